"""Actions that start processes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .. import logging
from .._child import Command
from .._output import LineOutput, Write
from .._supervisor import Policy, Supervisor
from ..action import Action
from ..conditions import evaluate_condition_expression
from ..descriptions import Environment, Executable
from ..event_handler import EventHandler
from ..event_handlers import OnProcessExit, OnShutdown, Reaction
from ..events import Shutdown
from ..events.process import ProcessTargetedEvent, ShutdownProcess, SignalProcess
from ..launch_description_entity import LaunchDescriptionEntity
from ..some_entities_type import entity_list
from ..some_substitutions_type import SomeSubstitutionsType
from ..substitutions import LaunchConfiguration
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions, perform_text
from ..utilities.type_utils import normalize_typed_substitution, perform_typed_substitution
from .basic import OpaqueFunction

if TYPE_CHECKING:
    from ..launch_context import LaunchContext

_SIGTERM_TIMEOUT = LaunchConfiguration("sigterm_timeout", default=5)
_SIGKILL_TIMEOUT = LaunchConfiguration("sigkill_timeout", default=5)
_NAME_AND_LINE = "[{this.process_description.final_name}] {line}"


class ExecuteLocal(Action):
    """Starts a process and keeps it until it ends or the launch is shut down."""

    def __init__(
        self,
        *,
        process_description: Executable,
        shell: bool = False,
        sigterm_timeout: SomeSubstitutionsType = _SIGTERM_TIMEOUT,
        sigkill_timeout: SomeSubstitutionsType = _SIGKILL_TIMEOUT,
        emulate_tty: bool = False,
        output: Any = "log",
        output_format: str = _NAME_AND_LINE,
        on_exit: Reaction | None = None,
        respawn: Any = False,
        respawn_delay: float | None = None,
        respawn_max_retries: int = -1,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.process_description = process_description
        self.process_details: dict[str, Any] | None = None
        # named as in the real one: ros2_standin/describe.py reads these of both
        self.__shell = shell
        self.__sigterm_timeout = normalize_to_list_of_substitutions(sigterm_timeout)
        self.__sigkill_timeout = normalize_to_list_of_substitutions(sigkill_timeout)
        self.__emulate_tty = emulate_tty
        self.__output = os.environ.get("OVERRIDE_LAUNCH_PROCESS_OUTPUT", output)
        self.__output_format = output_format
        self.__on_exit = on_exit
        self.__respawn = normalize_typed_substitution(respawn, bool)
        self.__respawn_delay = respawn_delay
        self.__respawn_max_retries = respawn_max_retries
        self._supervisor: Supervisor | None = None

    @property
    def return_code(self) -> int | None:
        """The return code of the process once it has ended."""
        return None if self._supervisor is None else self._supervisor.returncode

    def get_sub_entities(self) -> list[LaunchDescriptionEntity]:
        """See the base class."""
        return [] if callable(self.__on_exit) else entity_list(self.__on_exit)

    def get_asyncio_future(self) -> asyncio.Future[None] | None:
        """See the base class."""
        return None if self._supervisor is None else self._supervisor.finished

    def prepare(self, context: LaunchContext) -> None:
        """Resolve what is to be executed."""
        description = self.process_description
        description.prepare(context, self)
        self.process_details = {
            "action": self,
            "name": description.final_name,
            "cmd": description.final_cmd,
            "cwd": description.final_cwd,
            "env": description.final_env,
        }

    def execute(self, context: LaunchContext) -> None:
        """Start the process, unless the launch is being shut down."""
        self.prepare(context)
        if self._supervisor is not None:
            raise RuntimeError(f"ExecuteLocal action '{self.process_description.final_name}': executed more than once")
        if context.is_shutdown:
            return
        self._supervisor = Supervisor(self, context, self._command(context), self._policy(context))
        self._register_handlers(context, self._supervisor)
        self._supervisor.start()

    def open_output(self, context: LaunchContext) -> LineOutput:
        """Return where the output of the process goes."""
        output = self.__output if isinstance(self.__output, dict) else perform_text(context, self.__output)
        loggers = logging.get_output_loggers(self.process_description.final_name or "", output)
        return LineOutput(*(self._formatted(logger.info) for logger in loggers))

    def _formatted(self, write: Write) -> Write:
        return lambda line: write(self.__output_format.format(line=line, this=self))

    def _command(self, context: LaunchContext) -> Command:
        description = self.process_description
        emulate_tty = self.__emulate_tty
        if "emulate_tty" in context.launch_configurations:
            text = normalize_to_list_of_substitutions(context.launch_configurations["emulate_tty"])
            emulate_tty = evaluate_condition_expression(context, text)
        assert description.final_cmd is not None
        return Command(description.final_cmd, description.final_cwd, description.final_env, self.__shell, emulate_tty)

    def _policy(self, context: LaunchContext) -> Policy:
        timeouts = (self.__sigterm_timeout, self.__sigkill_timeout)
        sigterm, sigkill = (float(perform_substitutions(context, timeout)) for timeout in timeouts)
        respawn = perform_typed_substitution(context, self.__respawn, bool)
        return Policy(sigterm, sigkill, respawn, self.__respawn_delay or 0.0, self.__respawn_max_retries)

    def _register_handlers(self, context: LaunchContext, supervisor: Supervisor) -> None:
        def on_shutdown(event: Shutdown, _: LaunchContext) -> None:
            # a terminal has sent its Ctrl-C to the whole foreground group, the processes included
            supervisor.shutdown(send_sigint=not event.due_to_sigint or context.noninteractive)

        def on_request(_: LaunchContext) -> None:
            event = context.locals.event
            if isinstance(event, ShutdownProcess):
                supervisor.shutdown(send_sigint=True)
            elif isinstance(event, SignalProcess):
                supervisor.send_signal(event.signal_name)

        def targets_me(event: Any) -> bool:
            return isinstance(event, ProcessTargetedEvent) and event.process_matcher(self)

        context.register_event_handler(OnShutdown(on_shutdown=on_shutdown))
        context.register_event_handler(EventHandler(matcher=targets_me, entities=OpaqueFunction(function=on_request)))
        if self.__on_exit is not None:
            context.register_event_handler(OnProcessExit(target_action=self, on_exit=self.__on_exit))


class ExecuteProcess(ExecuteLocal):
    """Starts a process from a command line."""

    def __init__(
        self,
        *,
        cmd: Iterable[SomeSubstitutionsType],
        prefix: SomeSubstitutionsType | None = None,
        name: SomeSubstitutionsType | None = None,
        cwd: SomeSubstitutionsType | None = None,
        env: Environment | None = None,
        additional_env: Environment | None = None,
        **kwargs: Any,
    ) -> None:
        executable = Executable(cmd=cmd, prefix=prefix, name=name, cwd=cwd, env=env, additional_env=additional_env)
        super().__init__(process_description=executable, **kwargs)

    @property
    def cmd(self) -> list[Any]:
        """The command: as given, or resolved once it is executed."""
        return self.process_description.final_cmd or self.process_description.cmd

    @property
    def name(self) -> Any:
        """The name: as given, or resolved once it is executed."""
        return self.process_description.final_name or self.process_description.name
