"""Kernels of one's own: compiled from text, run on tensors by name, checked, timed, drawn."""
import json
import numbers
import os

from . import _hocket, _tensors
from ._errors import InvalidInput


class Schedule:
    """Which step of a loop runs when, as text: a `tile.schedule`."""

    def __init__(self, text, name="<schedule>"):
        self.text, self.name = str(text), str(name)

    @classmethod
    def from_file(cls, path):
        with open(path, encoding="utf-8") as file:
            return cls(file.read(), os.fspath(path))

    def __repr__(self):
        return f"hocket.Schedule({self.text!r})"


class Picture:
    """An SVG, which notebooks show."""

    def __init__(self, svg):
        self.svg = svg

    def _repr_svg_(self):
        return self.svg

    def save(self, path):
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)


class Finding:
    """What checked execution found: `kind` ("lds-race", ...), `severity` ("error" or "advice"), `message`, and
    how many executed instructions showed it."""

    def __init__(self, kind, severity, message, count):
        self.kind, self.severity, self.message, self.count = kind, severity, message, count

    def __repr__(self):
        return f"{self.severity}: {self.kind}: {self.message}"


class Check:
    """The outcome of checked execution; true if there was no error."""

    def __init__(self, outcome):
        self.findings = [Finding(*finding) for finding in outcome["findings"]]
        #: The error that ended the launch, or "".
        self.fault = outcome["fault"]
        #: What could not be checked, or "".
        self.note = outcome["note"]

    @property
    def errors(self):
        return [finding for finding in self.findings if finding.severity == "error"]

    def __bool__(self):
        return not self.errors and not self.fault

    def __repr__(self):
        lines = [repr(finding) for finding in self.findings]
        return "\n".join(lines + ([self.fault] if self.fault else [])) or "no findings"


class Prediction:
    """Predicted times. A prediction by the cycle model, not a measurement: docs/Simulator.md."""

    def __init__(self, outcome):
        #: Of the whole launch.
        self.microseconds = outcome["microseconds"]
        self.text = outcome["text"]
        #: One workgroup, and the grid, as in the reports of `hocket-run --time --time-grid`.
        self.workgroup = json.loads(outcome["run"])
        self.grid = json.loads(outcome["grid"])
        #: A turn of the hot loop over its cycles; None where there is no loop.
        self.picture = Picture(outcome["picture"]) if outcome["picture"] else None

    def _repr_svg_(self):
        return self.picture.svg if self.picture else None

    def __repr__(self):
        return self.text.rstrip()


class SteadyState:
    """What a wave executes in one turn of the hot loop: counts by kind of instruction."""

    def __init__(self, outcome):
        self.wave = outcome["wave"]
        self.turns, self.turns_counted = outcome["turns"], outcome["turns_counted"]
        #: Operands of each s_waitcnt.
        self.waits = outcome["waits"]
        self.total, self.clusters = outcome["total"], outcome["clusters"]

    def __repr__(self):
        columns = [name for name, count in self.total.items() if count]
        rows = [("cluster", *columns)]
        rows += [(str(i), *(str(cluster[c]) for c in columns)) for i, cluster in enumerate(self.clusters)]
        rows.append(("total", *(str(self.total[c]) for c in columns)))
        widths = [max(map(len, column)) for column in zip(*rows)]
        return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in rows)


class Launch:
    """What a launch tells: the device's kind and, in the simulator, what was executed."""

    def __init__(self, outcome):
        self.device = outcome["device"]
        self.workgroups = outcome["workgroups"]
        self.wave_instructions = outcome["wave_instructions"]

    def __repr__(self):
        if self.device != "sim":
            return f"launched on {self.device}"
        return f"{self.workgroups} workgroups, {self.wave_instructions} wave-instructions in the simulator"


class Kernel:
    """A compiled kernel; `hocket.compile` makes one."""

    def __init__(self, compiled):
        self._compiled = compiled
        self._stages = None

    #: The kernel's name, the chip it is for, and its tensors and scalars in words.
    name = property(lambda self: self._compiled.name)
    arch = property(lambda self: self._compiled.arch)
    signature = property(lambda self: self._compiled.signature)
    #: Registers, spills, LDS, occupancy, instruction counts.
    report = property(lambda self: json.loads(self._compiled.report))
    #: How it is launched (docs/Manifest.md).
    manifest = property(lambda self: json.loads(self._compiled.manifest))
    code_object = property(lambda self: self._compiled.code_object)

    @property
    def stages(self):
        """Every stage's text by its name, "tile" to "asm", and the bytes of "hsaco"."""
        if self._stages is None:
            self._stages = self._compiled.stages()
        return dict(self._stages)

    def draw(self):
        """The pipeline: what each wave group does, cluster by cluster."""
        return Picture(self._compiled.draw())

    def _arguments(self, named, stream=None):
        tensors, scalars, own = {}, {}, False
        for name, value in named.items():
            if isinstance(value, numbers.Real):  # bool is 0 or 1
                scalars[name] = int(value) if isinstance(value, numbers.Integral) else float(value)
                continue
            _tensors.refuse_gradient(value, name)
            own = own or _tensors.is_torch(value)
            tensors[name] = value.detach() if _tensors.is_torch(value) else value
        return self._compiled.arguments(tensors, scalars, -1 if own else stream or 0)

    def __call__(self, **named):
        """Runs it on tensors and numbers by name, in place."""
        return self.run(named)

    def run(self, named, *, stream=None, seed=0):
        """The same with a dict; `stream` of a GPU, `seed` of the order of waves in the simulator."""
        for value in named.values():
            stream = _tensors.stream_of(value, stream)
        return Launch(self._compiled.run(self._arguments(named, stream), stream, seed))

    def check(self, *, seed=0, **named):
        """Runs it under checked execution: races, missing waits, accesses beyond tensors, undefined values."""
        return Check(self._compiled.check(self._arguments(named), seed))

    def predict(self, **named):
        """Predicts its time on the whole chip; tensors stay as they are."""
        return Prediction(self._compiled.predict(self._arguments(named)))

    def steady_state(self, **named):
        """Counts what one wave of each wave group executes in a turn of the hot loop; tensors stay as they are."""
        return [SteadyState(wave) for wave in self._compiled.steady_state(self._arguments(named))]

    def __repr__(self):
        return f"<kernel {self.name} for {self.arch}: {self.signature}>"


def _schedule(schedule):
    if schedule is None or isinstance(schedule, str):
        return schedule, None
    if isinstance(schedule, Schedule):
        return schedule.name, schedule.text
    if isinstance(schedule, os.PathLike):
        return os.fspath(schedule), None
    raise InvalidInput(
        f"argument 'schedule' is a '{type(schedule).__name__}', wanted the name of a shipped schedule, a path, or "
        "a hocket.Schedule"
    )


def compile(
    text,
    *,
    name="<text>",
    schedule=None,
    arch="gfx950",
    stage=None,
    waves=None,
    kv_tile=None,
    block_order=None,
    debug=None,
    allow_spills=None,
):
    """A kernel of `text`, in the tile dialect, or of `stage` on; `name` is what messages call it."""
    choice, choice_text = _schedule(schedule)
    options = {
        "schedule": choice,
        "schedule_text": choice_text,
        "arch": arch,
        "stage": stage,
        "waves": waves,
        "kv_tile": kv_tile,
        "block_order": block_order,
        "debug": debug,
        "allow_spills": allow_spills,
    }
    return Kernel(_hocket.Kernel.compile(str(text), name, options))
