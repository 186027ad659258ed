#!/bin/sh
# The entry point of the image: `web` and `daemon` start Dagster, `watch` sends an alert if the source was not
# checked for long, everything else is a command of dialogue-warehouse.
set -eu

case "${1:-}" in
web)
    shift
    # On every address of the container, because no port could be published otherwise.
    exec python -m pipelines.dagster_graph.web --host 0.0.0.0 "$@"
    ;;
daemon)
    shift
    python -m pipelines.dagster_graph.instance "$DIALOGUE_WAREHOUSE"
    exec dagster-daemon run --module-name pipelines.definitions "$@"
    ;;
watch)
    # Each hour, without Dagster: in place of the timer of systemd. It ends within a second after a signal to stop: the
    # first process of a container ignores one that it does not trap, and a shell traps none while a command runs.
    trap 'exit 0' INT TERM
    while :; do
        dialogue-warehouse status --alert &
        wait "$!" || :
        sleep 3600 &
        wait "$!"
    done
    ;;
*)
    exec dialogue-warehouse "$@"
    ;;
esac
