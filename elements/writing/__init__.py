"""Changes of elements. Every change takes four steps, from top to bottom:

1. read the request into values (`inputs`, `diagrams/drawing_inputs`);
2. lock and load the current state (`stored`, `obstacles`);
3. decide (`deciding/`, pure): compute a plan, and collect every problem in `findings`;
4. write the plan (`persisting`, `statements`) and record it (`history`).

`updating`, `deleting` and the modules of `diagrams` each put these steps together for one kind of change, in one
transaction. Nothing is written while there is a finding, so a request reports all of its problems at once.
"""
