#!/bin/bash
# The steps of action.yml: install, race, comment. Their inputs are environment variables.
set -euo pipefail

LOG_LINES=40

# A wheel of the release that this very commit became, or else a build, which needs Rust.
install() {
    local version tag wheels="$RUNNER_TEMP/deadheat-wheels" package="$GITHUB_ACTION_PATH"
    version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$GITHUB_ACTION_PATH/pyproject.toml")
    tag="v$version"
    if [ -n "$ACTION_REPOSITORY" ] && is_commit_of "$tag" && gh release download "$tag" \
        --repo "$ACTION_REPOSITORY" --pattern "deadheat-*_$(uname -m).whl" --dir "$wheels"; then
        package=$(echo "$wheels"/*.whl)
    else
        echo "::notice::no release of $ACTION_REPOSITORY has a wheel for this: compiling it"
    fi
    python3 -m venv "$RUNNER_TEMP/deadheat"
    "$RUNNER_TEMP/deadheat/bin/pip" install --quiet --disable-pip-version-check "$package"
    "$RUNNER_TEMP/deadheat/bin/deadheat" --version
}

is_commit_of() {
    [ "$(commit "$1")" = "$(commit "$ACTION_REF")" ]
}

commit() {
    gh api "repos/$ACTION_REPOSITORY/commits/$1" --jq .sha || echo "none of $1"
}

# Writes the summary of the job in any case: with the comment, or with the end of the log.
race() {
    local comment="$RUNNER_TEMP/deadheat.md" junit="$RUNNER_TEMP/deadheat.xml"
    local log="$RUNNER_TEMP/deadheat.log" verdict code=0 options=() command=()
    rm -f "$comment" "$junit"
    eval "options=($OPTIONS)" # quoted as in a shell; the workflow's author writes both
    eval "command=($COMMAND)"
    [ -n "$BASE" ] || BASE=$(base)
    [ -z "$BUILD" ] || options+=(--build "$BUILD")
    "$RUNNER_TEMP/deadheat/bin/deadheat" regress --base "$BASE" --head "$HEAD" \
        --budget "$BUDGET" --comment "$comment" --junit "$junit" "${options[@]}" \
        -- "${command[@]}" 2>&1 | tee "$log" || code=${PIPESTATUS[0]}
    case $code in
        0) verdict=PASS ;;
        3) verdict=FAIL ;;
        4) verdict=INCONCLUSIVE ;;
        *) verdict=ERROR ;;
    esac
    if [ ! -s "$comment" ]; then
        {
            printf '### deadheat: %s\n\nNothing was measured:\n\n' "$verdict"
            tail -n "$LOG_LINES" "$log" | sed 's/\x1b\[[0-9;]*[A-Za-z]//g; s/^/    /'
        } > "$comment"
    fi
    cat "$comment" >> "$GITHUB_STEP_SUMMARY"
    printf '%s\n' "verdict=$verdict" "exit-code=$code" "comment=$comment" "junit=$junit" >> "$GITHUB_OUTPUT"
    if [ "$verdict" = INCONCLUSIVE ] && [ "$INCONCLUSIVE" = pass ]; then
        echo "::warning::deadheat: inconclusive; the job's summary says what would decide it"
        code=0
    fi
    exit "$code"
}

# What the change was merged into, if that merge is checked out: the base branch may have moved on.
base() {
    if [ -z "$PULL_HEAD" ] || [ "$(git rev-parse --quiet --verify HEAD^2)" = "$PULL_HEAD" ]; then
        echo HEAD^1
    else
        echo "$PULL_BASE"
    fi
}

# Changes our last comment, or adds one. A token that may not do so is no reason to fail.
comment() {
    local comments="repos/$GITHUB_REPOSITORY/issues/$NUMBER/comments" last
    last=$(gh api --paginate "$comments" --jq \
        '.[] | select(.user.type == "Bot" and (.body | startswith("### deadheat: "))) | .id' \
        | tail -n 1) || last=""
    if [ -n "$last" ]; then
        gh api --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$last" -F "body=@$COMMENT"
    else
        gh api --method POST "$comments" -F "body=@$COMMENT"
    fi > "$RUNNER_TEMP/deadheat-comment.json" \
        || echo "::warning::no comment: give the job the permission pull-requests: write"
}

"$1"
