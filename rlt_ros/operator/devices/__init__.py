"""Input devices in a person's hands: gamepads, SpaceMice, pedals. What they say becomes requests and commands."""
