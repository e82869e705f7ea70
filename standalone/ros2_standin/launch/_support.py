"""What makes everything outside the supported subset an error that names it."""

import importlib.abc
import sys
from collections.abc import Callable, Sequence
from typing import Any

STANDIN = "the stand-in for ROS launch (rlt_ros/standalone)"


class UnsupportedError(RuntimeError):
    """A launch file asks for something only the real `launch` can do."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} is not supported by {STANDIN}; run it with a real ROS 2 distribution")


def missing_attribute(module: str) -> Callable[[str], Any]:
    """Return a module level `__getattr__` that says the name is not part of the stand-in."""

    def getattr_(name: str) -> Any:
        if name.startswith("_"):  # import machinery and introspection probe these: a plain "no" is right
            raise AttributeError(name)
        raise ImportError(str(UnsupportedError(f"{module}.{name}")))

    return getattr_


def reject_keywords(owner: object, keywords: dict[str, Any]) -> None:
    """Raise for keyword arguments that no supported constructor has taken."""
    if keywords:
        names = ", ".join(f"'{name}'" for name in sorted(keywords))
        raise TypeError(str(UnsupportedError(f"{type(owner).__name__}: keyword argument {names}")))


class _MissingModules(importlib.abc.MetaPathFinder):
    """Last finder: a submodule of ours that no other finder knew does not exist in the stand-in."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> None:
        if fullname.startswith(("launch.", "launch_ros.")):
            raise ModuleNotFoundError(str(UnsupportedError(f"module {fullname}")), name=fullname)


def install_module_guard() -> None:
    """Make the import of an unsupported submodule say so."""
    if not any(type(finder).__name__ == "_MissingModules" for finder in sys.meta_path):
        sys.meta_path.append(_MissingModules())
