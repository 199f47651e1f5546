"""Every stage for display: stable text, JSON, and pictures.

| stage        | functions                                                               |
|--------------|-------------------------------------------------------------------------|
| expressions  | `expression_text`                                                       |
| logical plan | `logical_text`, `logical_json`; `plan_text` of one operator and below   |
|              | `logical_svg`, `logical_html`                                           |
| rules        | `trace_text`: what each of them did                                     |
| graph        | `graph_text`, `graph_json`, `graph_mermaid`, `graph_svg`                |
| tick plan    | `tick_text`, `tick_json`                                                |

`stages` has all of them.

The texts only depend on what they show, contain no empty lines, and end with a newline.
"""
