// Compiled with the headers that tests share, so that these are precompiled.
