"""Launch a launch file."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch._support import UnsupportedError
from launch.actions import IncludeLaunchDescription
from launch.actions.arguments import default_text
from launch.launch_description_sources import (
    AnyLaunchDescriptionSource,
    get_launch_description_from_any_launch_file,
)

from launch import LaunchDescription, LaunchService


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    add = parser.add_argument
    add("-n", "--noninteractive", default=not sys.stdin.isatty(), action="store_true", help="no terminal associated")
    add("-d", "--debug", action="store_true", help="more verbose output")
    add("-p", "--print", "--print-description", action="store_true", help="not supported here")
    add("-s", "--show-args", "--show-arguments", action="store_true", help="show the launch file's arguments")
    add("-a", "--show-all-subprocesses-output", action="store_true", help="all output to the screen as well")
    add("--launch-prefix", help="command to put before all executables")
    add("--launch-prefix-filter", help="pattern of the executables that get the prefix")
    add("package_name", help="name of the ROS package, or path of a launch file")
    add("launch_file_name", nargs="?", help="name of the launch file")
    add("launch_arguments", nargs="*", help="arguments of the launch file: <name>:=<value>, the last one wins")


def main(args: argparse.Namespace) -> int:
    """Launch the file, or show its arguments."""
    if args.print:
        raise UnsupportedError("ros2 launch --print")
    path, arguments = _path_and_arguments(args)
    if args.show_args:
        print(arguments_text(path))
        return 0
    if args.show_all_subprocesses_output:
        os.environ["OVERRIDE_LAUNCH_PROCESS_OUTPUT"] = "both"
    service = LaunchService(argv=arguments, noninteractive=args.noninteractive, debug=args.debug)
    source = AnyLaunchDescriptionSource(path)
    include = IncludeLaunchDescription(source, launch_arguments=parse_launch_arguments(arguments))
    service.include_launch_description(LaunchDescription([include]))
    return service.run()


def parse_launch_arguments(arguments: list[str]) -> list[tuple[str, str]]:
    """Return names and values of `name:=value`; of the same name the last one wins."""
    parsed: dict[str, str] = {}
    for argument in arguments:
        name, separator, value = argument.partition(":=")
        if not (name and separator and value):
            raise RuntimeError(f"malformed launch argument '{argument}', expected format '<name>:=<value>'")
        parsed[name] = value
    return list(parsed.items())


def find_launch_file(package: str, name: str) -> str:
    """Return the path of the launch file anywhere in the package's share folder."""
    share = get_package_share_directory(package)
    # links are followed: the standalone environment links whole folders into the share folder
    found = [os.path.join(root, name) for root, _, files in os.walk(share, followlinks=True) if name in files]
    if not found:
        raise RuntimeError(
            f"file '{name}' was not found in the share directory of package '{package}' which is at '{share}'"
        )
    if len(found) > 1:
        raise RuntimeError(
            f"file '{name}' was found more than once in the share directory of package '{package}': {found}"
        )
    return found[0]


def arguments_text(path: str) -> str:
    """Return what `--show-args` says about the launch file."""
    lines = ["Arguments (pass arguments as '<name>:=<value>'):"]
    arguments = get_launch_description_from_any_launch_file(path).get_launch_arguments()
    for argument in arguments:
        star = "*" if argument._conditionally_included else ""
        lines += ["", f"    '{argument.name}':{star}", f"        {argument.description}"]
        if argument.default_value is not None:
            lines.append(f"        (default: {default_text(argument.default_value)})")
    if any(argument._conditionally_included for argument in arguments):
        lines += ["", "* argument(s) which are only used if specific conditions occur"]
    return "\n".join(lines if arguments else [*lines, "", "  No arguments."])


def _path_and_arguments(args: argparse.Namespace) -> tuple[str, list[str]]:
    arguments = list(args.launch_arguments)
    if Path(args.package_name).is_file():
        path = args.package_name
        arguments = [args.launch_file_name, *arguments] if args.launch_file_name else arguments
    elif args.launch_file_name is None:
        raise RuntimeError(f"no launch file given, and '{args.package_name}' is no file")
    else:
        path = find_launch_file(args.package_name, args.launch_file_name)
    if args.launch_prefix_filter is not None and args.launch_prefix is None:
        raise RuntimeError("--launch-prefix must be specified if --launch-prefix-filter is provided")
    prefixes = {"launch-prefix": args.launch_prefix, "launch-prefix-filter": args.launch_prefix_filter}
    return path, [*arguments, *(f"{name}:={value}" for name, value in prefixes.items() if value)]
