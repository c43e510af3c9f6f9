"""What if: the scheduler's own core on a virtual clock, against a model of a provider's limits.

Read in this order: `scenario` (what a file may say), `simulation` (how a row is run), `upstream` (the provider),
`caller` and `work` (those who ask), `roads` and `relayed` (how they go there), `figures` (what came of it).
Everything is deterministic by the seed, in whole microseconds, and nothing here reads a clock or waits.
"""
