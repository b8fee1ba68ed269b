#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Draws docs/report.png, the picture in README.md: what `make race` reports of the simulator.
# picture.sh FAIRGROUND; without Chromium the picture stays as it is.
set -eu
cd "$(dirname "$0")/.."

fairground=$(realpath "$1")
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || {
    echo "docs/report.png is not drawn again: there is no chromium"
    exit 0
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT INT TERM
"$fairground" run quick --on sim --seed 1 --store "$folder/race.db" >/dev/null
"$fairground" report quick --store "$folder/race.db" -o "$folder/race.html" >/dev/null
"$chromium" --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1240,1240 \
    --virtual-time-budget=10000 --user-data-dir="$folder/profile" \
    --screenshot="$folder/report.png" "file://$folder/race.html" 2>/dev/null
mv "$folder/report.png" docs/report.png
echo "docs/report.png is drawn"
