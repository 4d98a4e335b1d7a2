"""What every HTTP service here stands on: the application, errors, keys, limits, and running it.

    make_app(title, routers, …)   trainer/web/app.py      a FastAPI application behind the guard
    WebError, Problem             trainer/web/problem.py  what a route raises, what a caller is told
    KeyFile, Access, caller_of    trainer/web/keys.py     API keys
    WebLimits                     trainer/web/limits.py   body size, nesting, rate
    run_app(app, host, port, …)   trainer/web/run.py      uvicorn: bind, announce, end gracefully

The packages come with the extra `serve`.
"""
