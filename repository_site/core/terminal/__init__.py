"""The command line: commands, their list, progress bars and tables. Importing it needs no Django."""
