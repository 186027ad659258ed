#!/bin/sh
# What the image does: `web` and `daemon` are Dagster's, everything else is a command of dialogue-warehouse.
set -eu

# How Dagster keeps its history: in PostgreSQL where a server is named, else in SQLite in the warehouse.
configure() {
    if [ -z "${DAGSTER_POSTGRES_URL:-}" ]; then
        python -m pipelines.dagster_graph.instance "$DIALOGUE_WAREHOUSE"
    elif [ "$DAGSTER_HOME" = "$DIALOGUE_WAREHOUSE/.dagster" ]; then
        echo "error: DAGSTER_POSTGRES_URL is set: DAGSTER_HOME must be a folder outside of the warehouse" >&2
        exit 2
    else # in one step: page and daemon start together
        cp /opt/dialogue-warehouse/deploy/dagster-postgresql.yaml "$DAGSTER_HOME/.dagster.yaml.$1"
        mv "$DAGSTER_HOME/.dagster.yaml.$1" "$DAGSTER_HOME/dagster.yaml"
    fi
}

case "${1:-}" in
web)
    configure "$1"
    shift
    exec dagster-webserver --host 0.0.0.0 --port 3000 --module-name pipelines.definitions "$@"
    ;;
daemon)
    configure "$1"
    shift
    if [ -n "${DAGSTER_POSTGRES_URL:-}" ]; then # or the daemon starts at once all that waits when it first looks
        dagster instance concurrency set warehouse 1
    fi
    exec dagster-daemon run --module-name pipelines.definitions "$@"
    ;;
*)
    exec dialogue-warehouse "$@"
    ;;
esac
