// Put into a copy of each page by pages.py: tells the test what a reader would see.
(() => {
    "use strict";
    const errors = [];
    addEventListener("error", (event) => errors.push(String(event.message)));
    addEventListener("unhandledrejection", (event) => errors.push(String(event.reason)));
    for (const kind of ["error", "warn"]) console[kind] = (...words) => errors.push(words.join(" "));

    const cells = (row) => Array.from(row.cells, (cell) => [cell.textContent, cell.dataset.value ?? null]);

    const tables = () =>
        Array.from(document.querySelectorAll("table.data"), (table) => ({
            keys: Array.from(table.tHead.rows[0].cells, (cell) => cell.dataset.key),
            rows: Array.from(table.tBodies[0].rows, cells),
        }));

    const painted = (canvas) => {
        const { width, height } = canvas;
        if (width === 0 || height === 0) return false;
        const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
        const colors = new Set();
        for (let i = 0; i < data.length && colors.size < 3; i += 4) {
            if (data[i + 3] > 0) colors.add(`${data[i]},${data[i + 1]},${data[i + 2]}`);
        }
        return colors.size >= 3;
    };

    const canvases = () =>
        Array.from(document.querySelectorAll("canvas"), (canvas) => ({
            key: canvas.dataset.chart,
            label: canvas.getAttribute("aria-label"),
            painted: painted(canvas),
            points: Chart.getChart(canvas).data.datasets.reduce((sum, data) => sum + data.data.length, 0),
        }));

    // Clicks each header twice: rows then rise and fall, and the header says so.
    const sortingFaults = () => {
        const faults = [];
        for (const table of document.querySelectorAll("table.data")) {
            Array.from(table.tHead.rows[0].cells).forEach((header, column) => {
                for (const [direction, sign] of [["ascending", 1], ["descending", -1]]) {
                    header.querySelector("button").click();
                    const values = Array.from(table.tBodies[0].rows, (row) => row.cells[column].dataset.value).filter((value) => value !== undefined);
                    const sorted = values.every((value, i) => i === 0 || sign * (Number(value) - Number(values[i - 1])) >= 0);
                    if (!sorted || header.getAttribute("aria-sort") !== direction) faults.push(`${header.dataset.key} ${direction}`);
                }
            });
        }
        return faults;
    };

    const luminance = () => {
        const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/[\d.]+/g).map(Number);
        return (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;
    };

    const report = () => {
        const answer = {
            name: PAGE_NAME,
            width: innerWidth,
            failed: "",
            overflow: document.documentElement.scrollWidth - innerWidth,
            charts: JSON.parse(document.getElementById("charts").textContent).charts.map((chart) => ({
                key: chart.key,
                points: chart.series.reduce((sum, series) => sum + series.points.length, 0),
            })),
            canvases: canvases(),
            luminance: luminance(),
            headersWithoutScope: document.querySelectorAll("th:not([scope])").length,
            tables: tables(),
            data: document.getElementById("data").textContent,
        };
        answer.sortingFaults = sortingFaults();
        answer.errors = errors;
        return answer;
    };

    addEventListener("load", () =>
        setTimeout(() => {
            let answer = { name: PAGE_NAME, width: innerWidth, failed: "" };
            try {
                answer = report();
            } catch (error) {
                answer.failed = String(error);
            }
            fetch("/answer", { method: "POST", body: JSON.stringify(answer) });
        }, 100),
    );
})();
