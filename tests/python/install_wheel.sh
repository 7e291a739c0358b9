#!/bin/sh
# Builds the wheel of a build and installs it into two environments: one that is empty, and one that sees the system's NumPy and pandas.
# Usage: tests/python/install_wheel.sh BUILD FOLDER
set -eu
build=$1
folder=$2
python=/usr/bin/python3
rm -rf "$folder"
wheel=$("$(dirname "$0")/../../tools/wheel" --build "$build" "$folder/dist")
"$python" -m venv --without-pip "$folder/empty"
"$python" -m venv --without-pip --system-site-packages "$folder/full"
for environment in empty full; do
    "$python" -m pip --quiet --disable-pip-version-check --python "$folder/$environment/bin/python" install --no-index --no-deps "$wheel"
done
