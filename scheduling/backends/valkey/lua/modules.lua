-- Purpose: the library's parts. Each is filled by the file of its name; they are declared here so that any may use any.
--          Together they are the pure core (scheduling/core) on the server: the same decisions on the same integers.
--          `pairs` is used only where order cannot matter; what the server replicates is the writes, not the calls.
local num, order, store, run, config = {}, {}, {}, {}, {} -- integers, sorted sets, records, this call, configuration
local charge, pacer, sample, slots = {}, {}, {}, {} -- the ruler, even spacing, run times, come-back slots
local sliding, calendar, lanes, axes = {}, {}, {}, {} -- windows.lua: what was charged; axes.lua: what a start needs
local limiters, lines, readiness, roll = {}, {}, {}, {} -- own limits, who waits, who may start, who should rather go
local policy, probe, starts, endings, leases = {}, {}, {}, {}, {} -- who goes next, starts, ends, and what runs
local times, door, closings, expiry = {}, {}, {}, {} -- when to come back, who may wait, closed targets, time
local arrange, wiring = {}, {} -- configuration taken over, how models hang together
local mail, recovery, clock, verbs = {}, {}, {}, {} -- events for others, a store that forgot, now, and the verbs

-- Joins the parts of an id: no slug, model name or user key holds it.
local SEP = '\31'
