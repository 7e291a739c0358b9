"""Checks docs/decisions: decisions.csv parses and holds what index.md says, and the pages, the index and the rows agree."""
import csv
import pathlib
import re
import sys

COLUMNS = ["id", "date", "section", "hypothesis", "change", "rows_judged", "error_before", "error_after", "metric", "kept", "note", "page"]
HEADINGS = ["Context", "Decision", "Figures", "Dead ends", "Consequences"]
LINK = re.compile(r"\[([^\]]+)\]\(([\w.-]+\.md)\)")  # to a file of the same folder
CITED = re.compile(r"^\| (\d+(?:[–, ]+\d+)*) \|", re.MULTILINE)  # first column of a table of figures


def errors_of_rows(rows, pages):
    for number, row in enumerate(rows, start=1):
        where = f"decisions.csv, row {number}"
        if len(row) != len(COLUMNS):
            yield f"{where}: {len(row)} fields, expected {len(COLUMNS)}"
            continue
        value = dict(zip(COLUMNS, row))
        if value["id"] != str(number):
            yield f"{where}: id {value['id']!r}, expected {number}"
        if not re.fullmatch(r"20\d\d-\d\d-\d\d", value["date"]):
            yield f"{where}: date {value['date']!r}, expected YYYY-MM-DD"
        if value["kept"] not in ("yes", "no", "partly"):
            yield f"{where}: kept {value['kept']!r}, expected yes, no or partly"
        if not value["section"] or not (value["hypothesis"] or value["change"]):
            yield f"{where}: section, and hypothesis or change, must not be empty"
        if value["page"] and value["page"] not in pages:
            yield f"{where}: page {value['page']!r} does not exist"


def errors_of_pages(texts, row_count):
    listed = LINK.findall(texts["index.md"])
    for name in sorted(set(texts) - {"index.md"}):
        text = texts[name]
        title = text.split("\n", 1)[0].removeprefix("# ")
        if listed.count((title, name)) != 1:
            yield f"index.md: lists {name} as {title!r} {listed.count((title, name))} times, expected once"
        missing = [heading for heading in HEADINGS if f"\n## {heading}\n" not in text]
        if missing:
            yield f"{name}: no section {', '.join(missing)}"
        for cited in CITED.findall(text):
            if any(not 1 <= int(number) <= row_count for number in re.findall(r"\d+", cited)):
                yield f"{name}: cites row {cited}, but decisions.csv has {row_count}"
    for name, text in texts.items():
        yield from (f"{name}: links to {target}, which does not exist" for _, target in LINK.findall(text) if target not in texts)


def main():
    folder = pathlib.Path(sys.argv[1])
    texts = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    with open(folder / "decisions.csv", encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file, strict=True)
    errors = [] if header == COLUMNS else [f"decisions.csv: columns {header}, expected {COLUMNS}"]
    errors += errors_of_rows(rows, texts) if not errors else []
    errors += errors_of_pages(texts, len(rows))
    print("\n".join(errors) or f"{len(rows)} experiments, {len(texts) - 1} pages")
    return bool(errors) or not rows


if __name__ == "__main__":
    sys.exit(main())
