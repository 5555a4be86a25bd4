"""Kernels of one's own: compiled from text, run on tensors by name, checked, timed, drawn."""
import numbers
import os
from collections.abc import Iterable

from . import _hocket, _tensors
from ._arguments import architecture, integer, integers, mapping, text as text_of
from ._errors import InvalidInput


def _read(text):
    """The object that JSON says."""
    import json

    return json.loads(text)


class Schedule:
    """Which step of a loop runs when, as text: a `tile.schedule`."""

    def __init__(self, text, name="<schedule>"):
        self.text, self.name = text_of(text, "text", "a schedule's text"), str(name)

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
    """Predicted times. A prediction by the cycle model, not a measurement: docs/Predictions.md."""

    def __init__(self, outcome):
        #: Of the whole launch.
        self.microseconds = outcome["microseconds"]
        self.text = outcome["text"]
        #: One workgroup, and the grid, as in the reports of `hocket-run --time --time-grid`.
        self.workgroup = _read(outcome["run"])
        self.grid = _read(outcome["grid"])
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


def _seed(seed):
    return integer(seed, "seed", 0, 2**64 - 1)


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
    report = property(lambda self: _read(self._compiled.report))
    #: How it is launched (docs/Manifest.md).
    manifest = property(lambda self: _read(self._compiled.manifest))
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
                scalars[name] = integer(value, name) if isinstance(value, numbers.Integral) else float(value)
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
        for value in mapping(named, "named").values():
            stream = _tensors.stream_of(value, stream)
        return Launch(self._compiled.run(self._arguments(named, stream), stream, _seed(seed)))

    def check(self, *, seed=0, **named):
        """Runs it under checked execution: races, missing waits, accesses beyond tensors, undefined values."""
        return Check(self._compiled.check(self._arguments(named), _seed(seed)))

    def predict(self, **named):
        """Predicts its time on the whole chip; tensors stay as they are."""
        return Prediction(self._compiled.predict(self._arguments(named)))

    def steady_state(self, **named):
        """Counts what one wave of each wave group executes in a turn of the hot loop; tensors stay as they are."""
        return [SteadyState(wave) for wave in self._compiled.steady_state(self._arguments(named))]

    def __repr__(self):
        return f"<kernel {self.name} for {self.arch}: {self.signature}>"


def _source(source):
    return text_of(source, "text", "a kernel's text")


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


class Trial:
    """A schedule that a search tried: `outcome` ("timed", "slower", "illegal", "spilled", "failed"), the predicted
    `microseconds` if it was timed, else the `message` why not."""

    def __init__(self, schedule, outcome, microseconds, message, kv_tile=0, mean=0):
        self.schedule = Schedule(schedule, "tuned")
        #: Keys of a tile, where the search chose them.
        self.kv_tile = kv_tile or None
        self.outcome, self.message = outcome, message
        self.microseconds = microseconds if outcome == "timed" else None
        #: Geometric mean of `microseconds` and those with each parameter of `vary`; of the best few.
        self.mean = mean or None

    def __repr__(self):
        return f"{self.microseconds:.2f} us predicted" if self.outcome == "timed" else f"{self.outcome}: {self.message}"


class Tuning:
    """What a search over schedules found. Its times are predictions of the cycle model."""

    def __init__(self, outcome):
        #: All trials, in the order in which they were made; the first is the schedule that the search began with.
        self.trials = [Trial(*trial) for trial in outcome["trials"]]
        #: Those that have a time, best first.
        self.ranking = [self.trials[number] for number in outcome["ranking"]]

    start = property(lambda self: self.trials[0])
    best = property(lambda self: self.ranking[0])
    #: Of the best.
    schedule = property(lambda self: self.best.schedule)
    microseconds = property(lambda self: self.best.microseconds)

    def __repr__(self):
        factor = self.start.microseconds / self.microseconds
        return f"{self.best!r}, {factor:.3f} times as fast as the start; {len(self.trials)} schedules tried"


def _name(value, name):
    return text_of(value, name, "a name")


#: What options of a compilation are.
_OPTIONS = {"stage": _name, "waves": integer, "kv_tile": integer, "block_order": _name,
            "debug": lambda value, _: bool(value), "allow_spills": lambda value, _: bool(value)}


def _compile_options(schedule, **options):
    choice, text = _schedule(schedule)
    read = {name: None if options.get(name) is None else of(options[name], name) for name, of in _OPTIONS.items()}
    return {"arch": architecture(options["arch"]), "schedule": choice, "schedule_text": text, **read}


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
    options = _compile_options(
        schedule,
        arch=arch,
        stage=stage,
        waves=waves,
        kv_tile=kv_tile,
        block_order=block_order,
        debug=debug,
        allow_spills=allow_spills,
    )
    return Kernel(_hocket.Kernel.compile(_source(text), _name(name, "name"), options))


def tune(
    text,
    sizes=None,
    *,
    name="<text>",
    schedule=None,
    arch="gfx950",
    waves=(),
    kv_tile=None,
    kv_tiles=(),
    workgroups=(),
    candidates=400,
    seconds=None,
    seed=0,
    threads=None,
    vary=(),
    progress=None,
):
    """Searches the schedule with which the kernel in `text` is predicted to be fastest (docs/Tuning.md).

    `sizes` are extents and numbers of the problem by the names of the kernel's signature; `waves` of a workgroup,
    `kv_tiles`, keys of a tile, and `workgroups` on a compute unit are to choose from. The search begins with
    `schedule`, tries so many `candidates` and begins no more after `seconds`; `progress(tried, microseconds)` hears of
    each. The best few are timed again with each parameter of the cycle model in `vary` ("trans.cycles=4"), and ranked
    by their means. Gives a `Tuning`.
    """
    for key, value in mapping(sizes or {}, "sizes").items():
        if not isinstance(value, numbers.Real):
            raise InvalidInput(f"argument 'sizes' gives '{key}' the value {value!r}, wanted a number")
    for key, value in (("candidates", candidates), ("seed", seed), ("threads", threads or 0)):
        if not isinstance(value, numbers.Integral) or not 0 <= value < 2**32:
            raise InvalidInput(f"argument '{key}' is {value!r}, wanted a whole number from 0")
    if seconds is not None and not (isinstance(seconds, numbers.Real) and seconds > 0):
        raise InvalidInput(f"argument 'seconds' is {seconds!r}, wanted a number above 0, or None for no limit")
    if isinstance(vary, str) or not isinstance(vary, Iterable) or not all(isinstance(each, str) for each in vary):
        raise InvalidInput(f"argument 'vary' is {vary!r}, wanted a list of parameters, as ['trans.cycles=4']")
    search = {
        "vary": list(vary),
        "candidates": int(candidates),
        "seconds": float(seconds or 0),
        "seed": int(seed),
        "threads": int(threads or 0),
        "waves": integers(waves, "waves"),
        "kv_tiles": integers(kv_tiles, "kv_tiles"),
        "workgroups": integers(workgroups, "workgroups"),
    }
    options = _compile_options(schedule, arch=arch, kv_tile=kv_tile)
    given = {str(key): float(value) for key, value in (sizes or {}).items()}
    return Tuning(_hocket.tune(_source(text), _name(name, "name"), options, given, search, progress))
