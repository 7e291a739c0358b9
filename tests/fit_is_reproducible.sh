#!/bin/sh
# Makes shipped fits again and compares them byte for byte: they belong to this program and these measurements.
# Usage: fit_is_reproducible.sh PROGRAM NAME…
set -eu
source_folder=$(cd "$(dirname "$0")/.." && pwd)
program=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -R "$source_folder/gpus" "$work/gpus"
ln -s "$source_folder/software" "$source_folder/models" "$source_folder/validation_data" "$work/"
ROOFCAST_DATA=$work "$source_folder/tools/refit" "$program" "$@"
for name in "$@"; do
    case "$name" in
    */*) name=arch/$name ;;
    esac
    cmp "$source_folder/gpus/fits/$name.fit.toml" "$work/gpus/fits/$name.fit.toml" || {
        echo "$name.fit.toml is not what the program writes now: run tools/refit" >&2
        exit 1
    }
done
