(() => {
    "use strict";

    const { colors, charts } = JSON.parse(document.getElementById("charts").textContent);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const drawn = [];
    let palette = dark.matches ? colors.dark : colors.light;

    const byCategory = (spec) => ["dot", "bar", "stacked_bar"].includes(spec.kind);
    const isBar = (spec) => spec.kind === "bar" || spec.kind === "stacked_bar";
    const isLine = (spec) => spec.kind === "line" || spec.kind === "step";
    const color = (index) => palette.series[index % palette.series.length];
    const shapes = ["circle", "rect", "triangle", "rectRot"];
    const count = (spec) => spec.series.reduce((sum, series) => sum + series.points.length, 0);
    const figure = (value) => (Math.abs(value) >= 1e4 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(4))));

    // Marks of one category lie side by side.
    const offset = (spec, index) => (spec.kind === "dot" ? ((index - (spec.series.length - 1) / 2) * 0.8) / spec.series.length : 0);

    const radius = (spec, point) => {
        if (point.weight) return 3 + 14 * Math.sqrt(Math.min(1, point.weight));
        const points = count(spec);
        if (isLine(spec)) return points > 40 * spec.series.length ? 0 : 3;
        return points > 300 ? 2 : 4.5;
    };

    // Marks that are many let others through; few ones have an edge that parts them.
    const colorsOf = (spec, index) => {
        const many = count(spec) > 300;
        const fill = color(index) + (isLine(spec) ? "" : many ? "80" : "d9");
        const edge = isLine(spec) || isBar(spec) || many ? color(index) : palette.background;
        return { backgroundColor: fill, borderColor: edge, pointBackgroundColor: fill, pointBorderColor: edge };
    };

    const dataset = (spec, series, index) => {
        const many = count(spec) > 300;
        const data = isBar(spec)
            ? series.points.map((point) => ({ x: point.x, y: spec.categories[point.y], point }))
            : series.points.map((point) => ({ x: point.x, y: point.y + offset(spec, index), point }));
        return {
            label: series.name,
            data,
            showLine: isLine(spec),
            stepped: spec.kind === "step",
            borderWidth: isLine(spec) ? 2 : isBar(spec) || many ? 0 : 1,
            pointStyle: many ? "circle" : isBar(spec) ? "rect" : shapes[index % shapes.length],
            pointRadius: series.points.map((point) => radius(spec, point)),
            pointHitRadius: 6,
            maxBarThickness: 22,
            clip: 8,
            ...colorsOf(spec, index),
        };
    };

    const scale = (spec, axis) => {
        const of = spec[axis];
        const categories = byCategory(spec) && axis === "y";
        const options = {
            type: categories && isBar(spec) ? "category" : of.log ? "logarithmic" : "linear",
            title: { display: of.title !== "", text: of.title },
            ticks: { autoSkip: !categories, maxRotation: 0 },
            grid: { display: !categories },
            stacked: spec.kind === "stacked_bar",
        };
        if (categories && isBar(spec)) return { ...options, labels: spec.categories, offset: true };
        if (categories) options.reverse = true;
        options.min = Math.min(of.low, of.high);
        options.max = Math.max(of.low, of.high);
        const labels = new Map(of.ticks);
        options.afterBuildTicks = (built) => {
            built.ticks = of.ticks.map(([value]) => ({ value, major: false }));
        };
        options.ticks.callback = (value) => labels.get(value) ?? "";
        return options;
    };

    const tooltipText = (spec, item) => {
        const { point } = item.raw;
        const value = byCategory(spec) ? point.x : point.y;
        const unit = byCategory(spec) ? spec.x.unit : spec.y.unit;
        const name = item.dataset.label ? item.dataset.label + ": " : "";
        const interval = point.low !== undefined && point.high !== undefined ? ` (${figure(point.low)} to ${figure(point.high)})` : "";
        return `${name}${figure(value)} ${unit}${interval}`;
    };

    const tooltipTitle = (spec, item) => {
        const { point } = item.raw;
        if (byCategory(spec)) return spec.categories[point.y] + (point.label ? ": " + point.label : "");
        return (point.label ? point.label + "; " : "") + `${spec.x.title}: ${figure(point.x)}`;
    };

    // ---- what Chart.js does not draw: reference lines, intervals, names beside points ----

    const drawReferences = (chart, spec) => {
        const { ctx, chartArea: area, scales } = chart;
        ctx.save();
        ctx.beginPath();
        ctx.rect(area.left, area.top, area.right - area.left, area.bottom - area.top);
        ctx.clip();
        ctx.strokeStyle = palette.reference;
        ctx.setLineDash([5, 4]);
        ctx.lineWidth = 1.3;
        for (const line of spec.references) {
            ctx.beginPath();
            for (const point of line.points) ctx.lineTo(scales.x.getPixelForValue(point.x), scales.y.getPixelForValue(point.y));
            ctx.stroke();
        }
        ctx.restore();
    };

    const drawIntervals = (chart, spec) => {
        const { ctx, scales } = chart;
        const across = byCategory(spec);
        ctx.save();
        ctx.lineWidth = 1.4;
        chart.data.datasets.forEach((data, index) => {
            const meta = chart.getDatasetMeta(index);
            if (meta.hidden) return;
            ctx.strokeStyle = isBar(spec) ? palette.text : color(index);
            data.data.forEach(({ point }, i) => {
                if (point.low === undefined || point.high === undefined) return;
                const axis = across ? scales.x : scales.y;
                const low = axis.getPixelForValue(point.low);
                const high = axis.getPixelForValue(point.high);
                const at = across ? meta.data[i].y : meta.data[i].x;
                const move = across ? (x, y) => ctx.moveTo(x, y) : (y, x) => ctx.moveTo(x, y);
                const line = across ? (x, y) => ctx.lineTo(x, y) : (y, x) => ctx.lineTo(x, y);
                ctx.beginPath();
                move(low, at);
                line(high, at);
                for (const end of [low, high]) {
                    move(end, at - 4);
                    line(end, at + 4);
                }
                ctx.stroke();
            });
        });
        ctx.restore();
    };

    // Places for text that overlaps no other text.
    const freeRoom = (area, taken) => {
        return (left, middle, width) => {
            const box = [left - 2, middle - 7, left + width + 2, middle + 7];
            if (box[0] < area.left || box[2] > area.right || box[1] < area.top || box[3] > area.bottom) return false;
            if (taken.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3])) return false;
            taken.push(box);
            return true;
        };
    };

    const write = (ctx, text, left, middle, fill) => {
        ctx.strokeStyle = palette.background;
        ctx.lineWidth = 3;
        ctx.lineJoin = "round";
        ctx.strokeText(text, left, middle);
        ctx.fillStyle = fill;
        ctx.fillText(text, left, middle);
    };

    // From the end of a line towards its beginning, the first place above it that is free.
    const writeReference = (chart, line, take) => {
        const { ctx, scales } = chart;
        const width = ctx.measureText(line.name).width;
        const at = (point) => [scales.x.getPixelForValue(point.x), scales.y.getPixelForValue(point.y)];
        for (let i = line.points.length - 1; i > 0; --i) {
            const [ax, ay] = at(line.points[i - 1]);
            const [bx, by] = at(line.points[i]);
            const upright = Math.abs(bx - ax) < 1;
            for (let t = 1; t >= 0; t -= 0.05) {
                const x = ax + t * (bx - ax);
                const y = ay + t * (by - ay);
                const middle = upright ? y + 8 : y - 9;
                for (const left of upright ? [x + 4, x - width - 4] : [x - width]) {
                    if (take(left, middle, width)) return write(ctx, line.name, left, middle, palette.muted);
                }
            }
        }
    };

    const writeLabels = (chart, spec) => {
        const { ctx, chartArea: area } = chart;
        const labelled = [];
        const marks = [];
        chart.data.datasets.forEach((data, index) => {
            const meta = chart.getDatasetMeta(index);
            if (meta.hidden || byCategory(spec) || count(spec) > 300) return;
            data.data.forEach(({ point }, i) => {
                const { x, y } = meta.data[i];
                const r = radius(spec, point);
                marks.push([x - r, y - r, x + r, y + r]);
                if (point.label) labelled.push([point.label, x, y, r + 4]);
            });
        });
        const take = freeRoom(area, marks);
        ctx.save();
        ctx.font = "12px system-ui, sans-serif";
        ctx.textBaseline = "middle";
        for (const line of spec.references) if (line.name) writeReference(chart, line, take);
        for (const [label, x, y, gap] of area.right - area.left > 400 ? labelled : []) {
            const width = ctx.measureText(label).width;
            const left = [x + gap, x - gap - width].find((from) => take(from, y, width));
            if (left !== undefined) write(ctx, label, left, y, palette.text);
        }
        ctx.restore();
    };

    const additions = (spec) => ({
        id: "additions",
        beforeDatasetsDraw: (chart) => drawReferences(chart, spec),
        afterDatasetsDraw: (chart) => {
            drawIntervals(chart, spec);
            writeLabels(chart, spec);
        },
    });

    // ---- one chart, and its colours ----

    const paint = ({ chart, spec }) => {
        chart.data.datasets.forEach((data, index) => Object.assign(data, colorsOf(spec, index)));
        for (const axis of Object.values(chart.options.scales)) {
            axis.ticks.color = palette.muted;
            axis.title.color = palette.text;
            axis.grid.color = palette.grid;
            axis.grid.borderColor = palette.grid;
        }
        chart.options.plugins.legend.labels.color = palette.text;
        chart.update("none");
    };

    const build = (canvas, spec) => {
        const holder = canvas.parentElement;
        if (byCategory(spec)) {
            const each = spec.kind === "stacked_bar" ? 32 : 16 + 16 * spec.series.length;
            holder.style.height = `${Math.max(190, 100 + each * spec.categories.length)}px`;
        }
        const chart = new Chart(canvas, {
            type: isBar(spec) ? "bar" : "scatter",
            data: { datasets: spec.series.map((series, index) => dataset(spec, series, index)) },
            options: {
                animation: false,
                maintainAspectRatio: false,
                indexAxis: isBar(spec) ? "y" : "x",
                scales: { x: scale(spec, "x"), y: scale(spec, "y") },
                plugins: {
                    legend: {
                        display: spec.series.length > 1,
                        position: "top",
                        align: "start",
                        labels: { usePointStyle: true, boxHeight: 7 },
                    },
                    tooltip: {
                        callbacks: {
                            title: (items) => (items.length > 0 ? tooltipTitle(spec, items[0]) : ""),
                            label: (item) => tooltipText(spec, item),
                        },
                    },
                },
            },
            plugins: [additions(spec)],
        });
        drawn.push({ chart, spec });
        paint(drawn[drawn.length - 1]);
    };

    const repaint = (printing) => {
        palette = dark.matches && !printing ? colors.dark : colors.light;
        for (const one of drawn) {
            one.chart.options.devicePixelRatio = printing ? 3 : undefined;
            paint(one);
            one.chart.resize();
        }
    };

    for (const spec of charts) build(document.querySelector(`canvas[data-chart="${CSS.escape(spec.key)}"]`), spec);
    dark.addEventListener("change", () => repaint(false));
    addEventListener("beforeprint", () => repaint(true));
    addEventListener("afterprint", () => repaint(false));
})();
