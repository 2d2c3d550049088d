"""Tools and resources for agents, behind the Model Context Protocol server of a storage (D584 to D588)."""
