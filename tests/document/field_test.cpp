#include "document/field.hpp"

#include <doctest/doctest.h>

#include "roofcast/precision.hpp"
#include "roofcast/units.hpp"

using namespace roofcast;

namespace {

struct Parcel {
    std::optional<double> weight;
    std::optional<Seconds> on_the_way;
    std::string label{};
};

const Fields<double> weight_fields{{{"kg", "kg"}, std::identity{}}, {{"g", "g"}, [](double x) { return 1000 * x; }}};

}  // namespace

TEST_CASE("cells hold text, numbers, flags and names, and are empty of what is absent") {
    CHECK(cell_of("text") == Cell(std::string("text")));
    CHECK(cell_of(2) == Cell(std::int64_t{2}));
    CHECK(cell_of(std::size_t{2}) == Cell(std::int64_t{2}));
    CHECK(cell_of(2.0) == Cell(2.0));
    CHECK(cell_of(true) == Cell(true));
    CHECK(cell_of(Precision::bf16) == Cell(std::string("bf16")));
    CHECK(cell_of(std::optional<double>()) == Cell());
    CHECK(cell_of(std::optional(Precision::fp8)) == Cell(std::string("fp8")));
    CHECK(cell_of(3 * ms, us) == Cell(3000.0));
    CHECK(cell_of(std::optional<Seconds>(), us) == Cell());
    CHECK(count_cell(0) == Cell());
    CHECK(cell_of(0.25, percent) == Cell(25.0));
    CHECK(text_cell("") == Cell());
}

TEST_CASE("a field takes a member, with a unit, with a function of it or alone") {
    const Fields<Parcel> fields{
        {{"weight_kg", "kg"}, &Parcel::weight}, {{"ms", "ms"}, &Parcel::on_the_way, ms}, {{"label", "label"}, &Parcel::label, text_cell}};
    const std::vector<Parcel> parcels{{.weight = 2, .on_the_way = 0.25 * s, .label = "a"}, {.weight = {}, .on_the_way = {}}};
    CHECK(as_csv(table_of({}, parcels, fields)) == "weight_kg,ms,label\n2,250,a\n,,\n");
    CHECK(json_of(parcels[0], fields).dump() == R"({"weight_kg":2.0,"ms":250.0,"label":"a"})");
}

TEST_CASE("fields of a part have its prefix, and empty cells where a row lacks the part") {
    const auto fields = prefixed("weight_", part_fields(&Parcel::weight, weight_fields));
    const std::vector<Parcel> parcels{{.weight = 2, .on_the_way = {}}, {.weight = {}, .on_the_way = {}}};
    CHECK(as_csv(table_of({}, parcels, fields)) == "weight_kg,weight_g\n2,2000\n,\n");
}

TEST_CASE("a part of a row may be there always, and one that is not is null in JSON") {
    struct Box {
        double contents;
    };
    const auto fields = part_fields(&Box::contents, weight_fields);
    CHECK(json_of(Box{2}, fields).dump() == R"({"kg":2.0,"g":2000.0})");
    CHECK(json_of(std::optional(Box{2}), fields) == json_of(Box{2}, fields));
    CHECK(json_of(std::optional<Box>(), fields).is_null());
}

TEST_CASE("a tone belongs to the cells that hold a value") {
    const ToneOf tone = tone_of(false, Tone::bad);
    CHECK(tone(false) == Tone::bad);
    CHECK(tone(true) == Tone::plain);
    CHECK(tone(Cell()) == Tone::plain);
}

TEST_CASE("tables without rows are not added") {
    std::vector<Table> tables;
    add_table(tables, {.title = "none", .columns = {{"a", "a"}}, .rows = {}});
    CHECK(tables.empty());
    add_table(tables, {.title = "one", .columns = {{"a", "a"}}, .rows = {{true}}});
    CHECK(tables.size() == 1);
}

TEST_CASE("rows are added to a table, which takes the columns of the first") {
    Table table;
    append(table, {.title = "first", .columns = {{"a", "a"}}, .rows = {{true}}});
    append(table, {.title = "second", .columns = {{"a", "a"}}, .rows = {{false}, {Cell()}}});
    CHECK(as_csv(table) == "a\nyes\nno\n\n");
    CHECK(table.title.empty());
}

TEST_CASE("picked fields stand in the order asked for") {
    CHECK(csv_header(table_of({}, std::vector<double>{}, picked(weight_fields, {"g", "kg"}))) == "g,kg\n");
    CHECK(picked(weight_fields, {"lb"}).empty());
}

TEST_CASE("lines are added behind a prefix, and once where they are to be") {
    std::vector<std::string> lines{"note: a"};
    add_once(lines, {"a", "b"}, "note: ");
    CHECK(lines == std::vector<std::string>{"note: a", "note: b"});
    add_lines(lines, {"a"}, "note: ");
    CHECK(lines.size() == 3);
}
