import os
from typing import Any, Callable, Dict, List, Optional, Sequence, Union

class Schedule:
    text: str
    name: str
    def __init__(self, text: str, name: str = "<schedule>") -> None: ...
    @classmethod
    def from_file(cls, path: Union[str, os.PathLike[str]]) -> "Schedule": ...

class Picture:
    svg: str
    def __init__(self, svg: str) -> None: ...
    def _repr_svg_(self) -> str: ...
    def save(self, path: Union[str, os.PathLike[str]]) -> None: ...

class Finding:
    kind: str
    severity: str
    message: str
    count: int
    def __init__(self, kind: str, severity: str, message: str, count: int) -> None: ...

class Check:
    findings: List[Finding]
    fault: str
    note: str
    def __init__(self, outcome: Dict[str, Any]) -> None: ...
    @property
    def errors(self) -> List[Finding]: ...
    def __bool__(self) -> bool: ...

class Prediction:
    microseconds: float
    text: str
    workgroup: Dict[str, Any]
    grid: Dict[str, Any]
    picture: Optional[Picture]
    def __init__(self, outcome: Dict[str, Any]) -> None: ...
    def _repr_svg_(self) -> Optional[str]: ...

class SteadyState:
    wave: int
    turns: int
    turns_counted: int
    waits: List[str]
    total: Dict[str, int]
    clusters: List[Dict[str, int]]
    def __init__(self, outcome: Dict[str, Any]) -> None: ...

class Launch:
    device: str
    workgroups: int
    wave_instructions: int
    def __init__(self, outcome: Dict[str, Any]) -> None: ...

class Kernel:
    def __init__(self, compiled: Any) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def arch(self) -> str: ...
    @property
    def signature(self) -> str: ...
    @property
    def report(self) -> Dict[str, Any]: ...
    @property
    def manifest(self) -> Dict[str, Any]: ...
    @property
    def code_object(self) -> bytes: ...
    @property
    def stages(self) -> Dict[str, Any]: ...
    def draw(self) -> Picture: ...
    def __call__(self, **named: Any) -> Launch: ...
    def run(self, named: Dict[str, Any], *, stream: Any = None, seed: int = 0) -> Launch: ...
    def check(self, *, seed: int = 0, **named: Any) -> Check: ...
    def predict(self, **named: Any) -> Prediction: ...
    def steady_state(self, **named: Any) -> List[SteadyState]: ...

class Trial:
    schedule: Schedule
    outcome: str
    message: str
    microseconds: Optional[float]
    kv_tile: Optional[int]
    mean: Optional[float]
    def __init__(
        self, schedule: str, outcome: str, microseconds: float, message: str, kv_tile: int = 0, mean: float = 0
    ) -> None: ...

class Tuning:
    trials: List[Trial]
    ranking: List[Trial]
    def __init__(self, outcome: Dict[str, Any]) -> None: ...
    @property
    def start(self) -> Trial: ...
    @property
    def best(self) -> Trial: ...
    @property
    def schedule(self) -> Schedule: ...
    @property
    def microseconds(self) -> float: ...

def compile(
    text: str,
    *,
    name: str = "<text>",
    schedule: Union[None, str, os.PathLike[str], Schedule] = None,
    arch: str = "gfx950",
    stage: Optional[str] = None,
    waves: Optional[int] = None,
    kv_tile: Optional[int] = None,
    block_order: Optional[str] = None,
    debug: Optional[bool] = None,
    allow_spills: Optional[bool] = None,
) -> Kernel: ...

def tune(
    text: str,
    sizes: Optional[Dict[str, float]] = None,
    *,
    name: str = "<text>",
    schedule: Union[None, str, os.PathLike[str], Schedule] = None,
    arch: str = "gfx950",
    waves: Sequence[int] = (),
    kv_tile: Optional[int] = None,
    kv_tiles: Sequence[int] = (),
    workgroups: Sequence[int] = (),
    candidates: int = 400,
    seconds: Optional[float] = None,
    seed: int = 0,
    threads: Optional[int] = None,
    vary: Sequence[str] = (),
    progress: Optional[Callable[[int, float], Any]] = None,
) -> Tuning: ...
