#!/bin/sh
# The entry point of the image: `web` and `daemon` start Dagster, everything else is a command of dialogue-warehouse.
set -eu

# Configure Dagster's history: in PostgreSQL if a server is named, else in SQLite in the warehouse. This also limits the
# pool of the warehouse to one run; without that limit the daemon, at its first look at the queue, would start all
# waiting runs.
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
