#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# `cargo test` with these arguments, and a last line that counts what passed, failed and was skipped
# because this machine lacks something.
set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

{
    status=0
    cargo test "$@" 2>&1 || status=$?
    echo $status >"$folder/status"
} | tee "$folder/output"

sed -n 's/.*\(skipped: .*\)/\1/p' "$folder/output"
awk '
    /^test result:/ { passed += $4; failed += $6 }
    /skipped: / { skipped++ }
    END { printf "%d passed, %d failed, %d skipped\n", passed - skipped, failed, skipped }
' "$folder/output"
exit "$(cat "$folder/status")"
