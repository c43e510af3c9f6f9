"""OpenAI's chat completions: `read` a request, `compose` an answer, put it in `chunks` or one `completion`."""
