#!/bin/sh
# Installs a build into a folder of its own, finds it from another project with find_package, builds and runs that, and runs the installed program
# with no other data than what was installed. Usage: tests/installed/check.sh BUILD FOLDER
set -eu
build=$1
folder=$2
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$folder"
cmake --install "$build" --prefix "$folder/prefix" >/dev/null
cmake -S "$here" -B "$folder/build" -DCMAKE_PREFIX_PATH="$folder/prefix" >/dev/null
cmake --build "$folder/build" >/dev/null
"$folder/build/consumer"
unset ROOFCAST_DATA
cd /
"$folder/prefix/bin/roofcast" predict --gpu v100 --model resnet50 --format csv
