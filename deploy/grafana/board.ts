// The boards as Grafana's own types describe them: the dashboard, and for each panel that the boards use its options and the
// options of its fields. ts-json-schema-generator makes a JSON Schema of this, and a test reads the boards by it.
import type { Dashboard, FieldConfig, FieldConfigSource, Panel } from "@grafana/schema/dist/types/raw/dashboard/x/types.gen";
import type * as heatmap from "@grafana/schema/dist/types/raw/composable/heatmap/panelcfg/x/types.gen";
import type * as stateTimeline from "@grafana/schema/dist/types/raw/composable/statetimeline/panelcfg/x/types.gen";
import type * as table from "@grafana/schema/dist/types/raw/composable/table/panelcfg/x/types.gen";
import type * as timeseries from "@grafana/schema/dist/types/raw/composable/timeseries/panelcfg/x/types.gen";

// What is left out has Grafana's default.
type Partly<T> = T extends (infer U)[] ? Partly<U>[] : T extends object ? { [K in keyof T]?: Partly<T[K]> } : T;

interface Of<Type extends string, Options, Custom> extends Omit<Panel, "type" | "options" | "fieldConfig"> {
  type: Type;
  options: Partly<Options>;
  fieldConfig: Omit<FieldConfigSource, "defaults"> & { defaults: Omit<FieldConfig, "custom"> & { custom?: Partly<Custom> } };
}

export interface Board extends Omit<Dashboard, "panels"> {
  panels: (
    | Of<"timeseries", timeseries.Options, timeseries.FieldConfig>
    | Of<"heatmap", heatmap.Options, heatmap.FieldConfig>
    | Of<"table", table.Options, table.FieldConfig>
    | Of<"state-timeline", stateTimeline.Options, stateTimeline.FieldConfig>
  )[];
}
