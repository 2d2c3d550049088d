"""The command line: the base class of commands, their list, progress bars and tables."""
