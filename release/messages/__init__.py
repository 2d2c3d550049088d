"""Messages about tasks, releases and ends: made from events, shown in the back office, and sent by mail (D371)."""
