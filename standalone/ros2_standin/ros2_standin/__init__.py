"""The `ros2` command: `ros2 launch` and `ros2 run`; see ../README.md."""
