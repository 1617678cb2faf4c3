"""One module for each array library: reads arrays, allocates results, hands both to a kernel."""
