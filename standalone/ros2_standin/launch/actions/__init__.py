"""Actions of launch files."""

from .._support import missing_attribute
from .arguments import DeclareLaunchArgument, IncludeLaunchDescription
from .basic import (
    EmitEvent,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
    Shutdown,
    TimerAction,
    UnregisterEventHandler,
)
from .configurations import (
    AppendEnvironmentVariable,
    GroupAction,
    PopEnvironment,
    PopLaunchConfigurations,
    PushEnvironment,
    PushLaunchConfigurations,
    ResetEnvironment,
    ResetLaunchConfigurations,
    SetEnvironmentVariable,
    SetLaunchConfiguration,
    UnsetEnvironmentVariable,
    UnsetLaunchConfiguration,
)
from .execute_process import ExecuteLocal, ExecuteProcess

__getattr__ = missing_attribute(__name__)
__all__ = [
    "AppendEnvironmentVariable",
    "DeclareLaunchArgument",
    "EmitEvent",
    "ExecuteLocal",
    "ExecuteProcess",
    "GroupAction",
    "IncludeLaunchDescription",
    "LogInfo",
    "OpaqueFunction",
    "PopEnvironment",
    "PopLaunchConfigurations",
    "PushEnvironment",
    "PushLaunchConfigurations",
    "RegisterEventHandler",
    "ResetEnvironment",
    "ResetLaunchConfigurations",
    "SetEnvironmentVariable",
    "SetLaunchConfiguration",
    "Shutdown",
    "TimerAction",
    "UnregisterEventHandler",
    "UnsetEnvironmentVariable",
    "UnsetLaunchConfiguration",
]
