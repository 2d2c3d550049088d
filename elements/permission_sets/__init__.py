"""Permission sets (D490): the sets above elements, the limits of callers, changes of sets, and their explanation."""
