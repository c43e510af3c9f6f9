-- Purpose: the provider's ruler: what a request is charged, when, and what is given back.
-- Twin:    scheduling/core/charge.py
-- charge:  { prompt, cap, callers }; actual: { prompt, cached, completion }, each nil where not known; in tokens

local function prompt(of)
  return of.prompt
end

local function cap(of)
  return of.cap
end

local function prompt_and_cap(of)
  return of.prompt + of.cap
end

local function larger(of)
  return math.max(of.prompt, of.cap)
end

local function actual_prompt(actual)
  return actual.prompt
end

local function actual_uncached(actual)
  return actual.prompt and math.max(0, actual.prompt - (actual.cached or 0))
end

local function actual_output(actual)
  return actual.completion
end

local function actual_total(actual)
  return actual.prompt and actual.completion and actual.prompt + actual.completion
end

local BOTH = { input_tokens = prompt, output_tokens = cap, total_tokens = prompt_and_cap }
local MEASURED = { input_tokens = actual_prompt, output_tokens = actual_output, total_tokens = actual_total }
local RULES = {
  reserve_and_settle = { arrival = BOTH, actual = MEASURED, settles_failed = true },
  prompt_plus_max = { arrival = BOTH, actual = {} },
  max_of = { arrival = { input_tokens = prompt, output_tokens = cap, total_tokens = larger }, actual = {} },
  input_output = {
    arrival = BOTH,
    actual = { input_tokens = actual_uncached, output_tokens = actual_output, total_tokens = actual_total },
    settles_failed = true,
    produced = 'output_tokens',
  },
  input_only = {
    arrival = { input_tokens = prompt, total_tokens = prompt },
    actual = { input_tokens = actual_prompt, total_tokens = actual_prompt },
  },
  requests_only = { arrival = {}, actual = {} },
}

-- By what is certain: the prompt, and a cap only if the caller set it.
local function certain_amount(rule, measure, of)
  local certain = of.callers and of or { prompt = of.prompt, cap = 0 }
  return math.max(1, RULES[rule].arrival[measure](certain))
end

function charge.arrival_amount(rule, measure, of, limit)
  if measure == 'requests' then
    return 1
  end
  local amount = math.max(1, RULES[rule].arrival[measure](of))
  if of.callers then
    return amount
  end
  return math.min(amount, math.max(limit, certain_amount(rule, measure, of)))
end

function charge.too_large(rule, measure, of, limit)
  return measure ~= 'requests' and certain_amount(rule, measure, of) > limit
end

function charge.largest_cap(rule, measure, of, limit)
  if charge.too_large(rule, measure, { prompt = of.prompt, cap = 0 }, limit) then
    return 0
  end
  local with_prompt = RULES[rule].arrival[measure] == prompt_and_cap
  return with_prompt and limit - of.prompt or limit
end

-- What the charge becomes at the end; nil: it stays as it was.
function charge.settled_amount(rule, measure, ending, actual)
  if measure == 'requests' then
    return nil
  end
  if ending == 'refused' then
    return 0
  end
  local row = RULES[rule]
  if not row.actual[measure] or (ending == 'failed' and not row.settles_failed) then
    return nil
  end
  return row.actual[measure](actual)
end

-- Charged as it is produced: reserved while it runs, stamped at the end.
function charge.is_produced(rule, measure)
  return RULES[rule].produced == measure
end
