"""What a launch file would start, as JSON: `python describe.py FILE [name:=value ...] [-- name:=value ...]`.

Each set of arguments, parted by `--`, gives one list of processes and events. It runs the `launch`
that is on the path, the stand-in or the real one, with the start of processes replaced by a record;
so both can be compared. Timers fire at once and every process ends with 0 as
soon as it has started, so that event handlers show what they would do.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import launch.utilities
import launch_ros.actions
import yaml
from launch.events.process import ProcessExited, ProcessStarted

import launch

Record = dict[str, Any]

_LIMIT = 200  # a process that is started again whenever it ends would never stop


class _TupleLoader(yaml.SafeLoader):
    """Reads tuples, which the real launch_ros writes, as lists."""


_TupleLoader.add_constructor("tag:yaml.org,2002:python/tuple", lambda loader, node: loader.construct_sequence(node))


class Recorder:
    """Stands in for what an action does when it is executed."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self._environment = dict(os.environ)

    def start_process(self, action: Any, context: Any) -> None:
        """Record the process, and that it starts and ends."""
        action.prepare(context)
        description = action.process_description
        record = {"process": description.final_name, "cmd": _inlined(description.final_cmd)}
        self._add(record | self._more(action) | _policy(action, context))
        on_exit = action._ExecuteLocal__on_exit
        if on_exit is not None:
            context.register_event_handler(launch.event_handlers.OnProcessExit(target_action=action, on_exit=on_exit))
        details = {"action": action, "name": description.final_name, "cmd": description.final_cmd}
        details |= {"cwd": description.final_cwd, "env": description.final_env, "pid": 0}
        context.emit_event_sync(ProcessStarted(**details))
        context.emit_event_sync(ProcessExited(returncode=0, **details))

    def emit(self, action: Any, context: Any) -> None:
        """Record the event, and emit it unless it would end the description."""
        event = action.event
        known = ("reason", "transition_id", "signal_name")
        values = {name: getattr(event, name) for name in known if hasattr(event, name)}
        self._add({"event": event.name} | values)
        if not isinstance(event, launch.events.Shutdown):
            context.emit_event_sync(event)

    def _add(self, record: Record) -> None:
        if len(self.records) >= _LIMIT:
            raise SystemExit(f"more than {_LIMIT} processes and events: does a process start itself?")
        self.records.append(record)

    def _more(self, action: Any) -> Record:
        description = action.process_description
        changed = {k: v for k, v in description.final_env.items() if self._environment.get(k) != v}
        removed = sorted(set(self._environment) - set(description.final_env))
        more: Record = {"cwd": description.final_cwd, "env": changed, "env_removed": removed}
        if isinstance(action, launch_ros.actions.Node):
            more |= {"node": action.node_name, "namespace": action.expanded_node_namespace}
        return more


def describe(launch_file: str, arguments: list[str]) -> list[Record]:
    """Return the processes and events of the launch file, in order. Replaces methods for good: use a process."""
    recorder = Recorder()
    _record_with(recorder)
    actions = launch.actions
    service = launch.LaunchService(argv=arguments, noninteractive=True)
    source = launch.launch_description_sources.PythonLaunchDescriptionSource(launch_file)
    pairs = [tuple(argument.split(":=", 1)) for argument in arguments]
    include = actions.IncludeLaunchDescription(source, launch_arguments=pairs)
    service.include_launch_description(launch.LaunchDescription([include]))
    failed = service.run() != 0
    return [*recorder.records, {"failed": True}] if failed else recorder.records


def _record_with(recorder: Recorder) -> None:
    actions = launch.actions
    launch_ros.actions.LifecycleNode.execute = launch_ros.actions.Node.execute
    actions.ExecuteLocal.execute = lambda self, context: recorder.start_process(self, context)
    actions.EmitEvent.execute = lambda self, context: recorder.emit(self, context)
    actions.TimerAction.execute = lambda self, context: list(self.actions)


def describe_all(launch_file: str, argument_sets: list[list[str]]) -> list[list[Record]]:
    """Return a description for each set of arguments, each in the environment of the start."""
    environment = dict(os.environ)
    described = []
    for arguments in argument_sets:
        described.append(describe(launch_file, arguments))
        os.environ.clear()
        os.environ.update(environment)
    return described


def _policy(action: Any, context: Any) -> Record:
    """Return how the process is run; the real launch has no public names for all of it."""
    names = ("respawn", "respawn_delay", "respawn_max_retries", "output", "emulate_tty", "shell")
    names += ("sigterm_timeout", "sigkill_timeout")
    return {name: _plain(getattr(action, f"_ExecuteLocal__{name}"), context) for name in names}


def _plain(value: Any, context: Any) -> Any:
    if isinstance(value, list):
        return launch.utilities.perform_substitutions(context, value)
    return {key: sorted(part) for key, part in value.items()} if isinstance(value, dict) else value


def _inlined(cmd: list[str]) -> list[Any]:
    """Return the command with the content in the place of temporary parameter files."""
    return [_content(part) if "launch_params_" in part and os.path.isfile(part) else part for part in cmd]


def _content(path: str) -> Any:
    return {"file": yaml.load(Path(path).read_text(), Loader=_TupleLoader)}


def main() -> None:
    """Print the description; what the launch logs goes to the standard error."""
    output, sys.stdout = sys.stdout, sys.stderr
    sets: list[list[str]] = [[]]
    for argument in sys.argv[2:]:
        if argument == "--":
            sets.append([])
        else:
            sets[-1].append(argument)
    json.dump(describe_all(sys.argv[1], sets), output, indent=1)


if __name__ == "__main__":
    main()
