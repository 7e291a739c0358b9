#pragma once
/// Colours of charts. Series stay apart for readers who cannot tell red from green, and stand out from their background by 3 to 1 or more.

#include <array>
#include <string_view>

namespace roofcast {

struct SeriesColor {
    std::string_view light, dark;  ///< on a light and on a dark background
};

/// After Okabe and Ito (2008), "Color Universal Design"; pale ones are darker on white.
inline constexpr std::array<SeriesColor, 8> series_colors{{{"#0072b2", "#56b4e9"},
                                                           {"#d55e00", "#ff8f4a"},
                                                           {"#00805e", "#2fd0a0"},
                                                           {"#a8488a", "#e79bcb"},
                                                           {"#8a6a00", "#f0c93a"},
                                                           {"#5a4fb0", "#aaa4ff"},
                                                           {"#4d4d4d", "#c4c4c4"},
                                                           {"#8c2d19", "#e5887a"}}};

struct PageColors {
    std::string_view background, text, muted, grid, reference;
};
inline constexpr PageColors light_colors{"#ffffff", "#1f2328", "#59636e", "#e3e6ea", "#6e7781"};
inline constexpr PageColors dark_colors{"#14171c", "#e6e9ee", "#9aa4b0", "#2c323a", "#8b95a1"};

}  // namespace roofcast
