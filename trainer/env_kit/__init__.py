"""The service kit: an author writes one class, `runtime.EnvironmentRuntime`, and serves it over HTTP."""
