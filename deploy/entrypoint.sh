#!/bin/sh
# What the image does: `web` and `daemon` are Dagster's, everything else is a command of dialogue-warehouse.
set -eu

# Where Dagster keeps its history: in PostgreSQL where a server is named, else in SQLite in the warehouse. This limits the
# pool of the warehouse to one run too, or the daemon starts at once all that waits when it first looks at the queue.
configure() {
    history=dagster.yaml
    [ -z "${DAGSTER_POSTGRES_URL:-}" ] || history=dagster-postgresql.yaml
    python -m pipelines.dagster_graph.instance "$DIALOGUE_WAREHOUSE" "/opt/dialogue-warehouse/deploy/$history"
}

case "${1:-}" in
web)
    configure
    shift
    exec dagster-webserver --host 0.0.0.0 --port 3000 --module-name pipelines.definitions "$@"
    ;;
daemon)
    configure
    shift
    exec dagster-daemon run --module-name pipelines.definitions "$@"
    ;;
*)
    exec dialogue-warehouse "$@"
    ;;
esac
