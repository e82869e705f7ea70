"""What the operator is shown and what a pressed key asks for; free of ROS, `nodes.console` is its way to the graph."""
