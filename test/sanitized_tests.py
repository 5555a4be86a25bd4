"""The lit format of a build with sanitizers. A module of its own, since lit hands tests to other processes, which
cannot look up a class that a configuration file defines."""
import lit.formats


class SanitizedTests(lit.formats.ShTest):
    """The tests that say "UNDER-SANITIZERS"; only their tools are built with sanitizers."""

    def getTestsInDirectory(self, *arguments):
        for test in super().getTestsInDirectory(*arguments):
            with open(test.getSourcePath(), encoding="utf-8", errors="replace") as file:
                if "UNDER-SANITIZERS" in file.read():
                    yield test
