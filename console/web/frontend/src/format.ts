// Numbers, sizes and times as people read them; the same words as `fsql top` has.

export function count(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  const rounded = Math.abs(value) < 10 && !Number.isInteger(value) ? value.toFixed(1) : String(Math.round(value));
  return rounded.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

export function short(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size >= 1e9) return `${(value / 1e9).toFixed(size >= 1e10 ? 0 : 1)} G`;
  if (size >= 1e6) return `${(value / 1e6).toFixed(size >= 1e7 ? 0 : 1)} M`;
  if (size >= 1e4) return `${(value / 1e3).toFixed(size >= 1e5 ? 0 : 1)} k`;
  return count(value);
}

export function seconds(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0 s";
  if (value < 1e-6) return `${Math.round(value * 1e9)} ns`;
  if (value < 1e-3) return `${(value * 1e6).toFixed(value < 1e-5 ? 1 : 0)} µs`;
  if (value < 1) return `${(value * 1e3).toFixed(value < 0.01 ? 1 : 0)} ms`;
  if (value < 120) return `${value.toFixed(value < 10 ? 1 : 0)} s`;
  if (value < 7200) return `${Math.round(value / 60)} min`;
  if (value < 172_800) return `${Math.round(value / 3600)} h`;
  return `${Math.round(value / 86_400)} d`;
}

/** A number of things: "1 row", "12.0 k rows". */
export function counted(value: number, one: string, several = `${one}s`): string {
  return `${short(value)} ${value === 1 ? one : several}`;
}

export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let size = value;
  let unit = 0;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${unit === 0 || size >= 100 ? Math.round(size) : size.toFixed(1)} ${units[unit]}`;
}

export function percent(share: number | null | undefined): string {
  if (share === null || share === undefined) return "–";
  return `${(share * 100).toFixed(share < 0.1 ? 1 : 0)}%`;
}

export function clock(at: number): string {
  return new Date(at * 1000).toLocaleTimeString(undefined, { hour12: false });
}

export function day(at: number): string {
  return new Date(at * 1000).toLocaleDateString(undefined, { year: "numeric", month: "short", day: "numeric" });
}

const OPERATOR = /-[0-9a-f]{12}\b/g;

/** The name of an operator without the hash of its content. */
export function operator(name: string): string {
  return name.replace(OPERATOR, "");
}
