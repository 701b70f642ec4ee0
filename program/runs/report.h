#pragma once
#include <levin/program/runs/recorded_run.h>

#include <string>
#include <vector>

namespace levin::runs {

/// Returns at most about `most` points of a series: the first, the last, and the smallest and largest of each part
/// between.
Series thinned(const Series& series, size_t most);

/// Returns a page of HTML that shows the runs: curves, last values, what classifiers confuse, pictures, checkpoints,
/// configs and how these differ, and where the runs were. It needs no network. A metric has at most 2,000 points there,
/// and fewer if there are more than 40 metrics; texts of the runs are data, and never HTML.
std::string report_html(const std::vector<RecordedRun>& runs);

/// Returns the data of that page as JSON: {"runs": [...]}. It has no "<".
std::string report_json(const std::vector<RecordedRun>& runs);

/// Returns the text of report.html, with LEVIN_REPORT_DATA where the data belongs.
const char* report_template();

}  // namespace levin::runs
