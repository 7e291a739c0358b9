#!/bin/sh
# Installs a build into a folder of its own, builds the examples against it as another project would, and runs them and the installed program with no
# other data than what was installed. Usage: tests/installed/check.sh BUILD FOLDER
set -eu
build=$1
folder=$2
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$folder"
cmake --install "$build" --prefix "$folder/prefix" >/dev/null
cmake -G Ninja -S "$here/../../examples" -B "$folder/build" -DCMAKE_PREFIX_PATH="$folder/prefix" >/dev/null
cmake --build "$folder/build" >/dev/null
for example in gemm predict smallest_gpu step; do
    printf '%s\n' "$example"
    ROOFCAST_DATA="$folder/prefix/share/roofcast" "$folder/build/$example"
done
for file in man/man1/roofcast.1 man/man1/roofcast-gpu-show.1 bash-completion/completions/roofcast zsh/site-functions/_roofcast \
    fish/vendor_completions.d/roofcast.fish; do
    test -s "$folder/prefix/share/$file"
done
unset ROOFCAST_DATA
cd /
"$folder/prefix/bin/roofcast" predict --gpu v100 --model resnet50 --format csv
