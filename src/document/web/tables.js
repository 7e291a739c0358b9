(() => {
    "use strict";

    // A click on a header sorts its table by that column.

    const sortKey = (row, column) => {
        const cell = row.cells[column];
        if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
        const text = cell.textContent.trim();
        return text === "" ? null : text;
    };

    // Numbers by size, then text by its letters and the numbers in it; what is empty comes last in both directions.
    const compare = (a, b, direction) => {
        if (a === null || b === null) return (a === null) - (b === null);
        if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
        return direction * (typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true }));
    };

    const sortBy = (table, header) => {
        const column = header.cellIndex;
        const ascending = header.getAttribute("aria-sort") !== "ascending";
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        header.setAttribute("aria-sort", ascending ? "ascending" : "descending");
        const rows = Array.from(table.tBodies[0].rows, (row) => [sortKey(row, column), row]);
        rows.sort((a, b) => compare(a[0], b[0], ascending ? 1 : -1));
        table.tBodies[0].append(...rows.map(([, row]) => row));
    };

    for (const table of document.querySelectorAll("table")) {
        for (const header of table.tHead.rows[0].cells) header.querySelector("button").addEventListener("click", () => sortBy(table, header));
    }
})();
