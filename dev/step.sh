# Shell functions of ./quickstart and ./check: run a step, show that it lives, say how it
# ended. Sourced, not run. `log` must name the file that takes what the steps print.

# clock_s: seconds since this shell started, one decimal.
clock_s() { awk -v ms="$(($(date +%s%3N) - started_ms))" 'BEGIN { printf "%.1f", ms / 1000 }'; }
started_ms=$(date +%s%3N)

# last_words: what the command said last.
last_words() { tail -n 1 "$log" | tr -cd '[:print:]' | cut -c1-50; }

# step TITLE COMMAND...: runs the command with its output in $log. On a terminal the line
# counts the seconds and shows what the command said last; elsewhere a line comes every
# half minute. Returns what the command does.
step() {
    local title=$1 began code=0
    shift
    began=$(date +%s%3N)
    printf '\n=== %s: %s\n' "$title" "$*" >>"$log"
    "$@" >>"$log" 2>&1 </dev/null &
    local pid=$!
    trap 'kill "$pid" 2>/dev/null; exit 130' INT TERM
    local spoke=$began now pause=0.1
    while kill -0 "$pid" 2>/dev/null; do
        now=$(date +%s%3N)
        if [ -t 1 ]; then
            printf '\r\033[K%s  %d s  %s' "$title" $(((now - began) / 1000)) "$(last_words)"
        elif [ $((now - spoke)) -gt 30000 ]; then
            echo "    ... $title  $(((now - began) / 1000)) s  $(last_words)"
            spoke=$now
        fi
        [ $((now - began)) -lt 5000 ] || pause=1
        sleep "$pause"
    done
    [ ! -t 1 ] || printf '\r\033[K'
    wait "$pid" || code=$?
    trap - INT TERM
    seconds=$(awk -v ms="$(($(date +%s%3N) - began))" 'BEGIN { printf "%.1f", ms / 1000 }')
    if [ $code = 0 ]; then
        printf '%-44s %7s s\n' "$title" "$seconds"
    else
        printf '%-44s %7s s  FAILED\n' "$title" "$seconds"
    fi
    return $code
}

# ask_for_sudo GROUP...: where packages must be installed by a person who is not root, asks
# for the password now, while nothing else writes to the terminal.
ask_for_sudo() {
    local missing
    [ "$(id -u)" != 0 ] && [ -t 0 ] && command -v sudo >/dev/null || return 0
    missing=$(deps/apt --missing "$@")
    [ -z "$missing" ] || { echo "To install with sudo:" $missing && sudo -v; }
}

# tell_failure: the end of the log, for a step that failed.
tell_failure() {
    echo
    echo "The last lines of ${log#"$PWD"/}:"
    tail -n "${1:-15}" "$log" | sed 's/^/    /'
} >&2
