"""What filedrop costs, beside what the same work costs without it. Figures, never tests.

    python -m benchmarks                      all cases but soak and compare: an hour
    python -m benchmarks --list               their names
    python -m benchmarks latency --json FILE  these; FILE gets every figure, and what each round measured
    python -m benchmarks soak --hours 2       half a million documents; never run unless it is named
    python -m benchmarks compare COMMIT       this build and that of another commit, in turn: a quarter of an hour
    python -m benchmarks compare COMMIT rows  a part of that, or one that is only measured if it is named

A figure is the median of its rounds. Filedrop and its yardstick take turns within a round, so that whatever else the
machine has to do holds up both; the ratio is the median of the rounds' ratios. `others` says how many cores' worth of
work was done meanwhile by processes that are none of ours: an absolute figure with much of that says little.

    cases/       what is measured, by subject: a case is a function with a name that yields figures
    frame        figures and their targets, the cases' registry
    machine      which machine it is, and what else it is doing
    processes    a command's time, memory and CPU
    installation a filedrop with folders, configuration and daemon, and the null access point that it works with
    nullserver   an access point that answers as fast as it can, in a process of its own
    soakserver   one with ordinary misfortunes, which forgets nothing that soak has to prove
    traffic      soak's documents by number, who drops them, and the accounting system that takes what came in
    chart        curves over time, as one SVG file
    documents    invoices, each different, and the folders full of them
    history      what years of work leave behind: rows, documents and sidecars
    bare         the yardstick loops: requests in threads, fsyncs and renames; and curl.sh, the shell script
    floor        the least program with filedrop's order of safety
"""
