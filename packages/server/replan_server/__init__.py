"""The servers: web page, HTTP API, MCP, webhooks, telemetry, Postgres and workers."""
