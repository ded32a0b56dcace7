import type { Report } from "../build/document";

declare global {
  interface Window {
    deadheat: { show(report: Report): void };
  }
}
