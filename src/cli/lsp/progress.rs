//! The progress of reading folders, where the client shows it.

use lsp_types::notification;
use lsp_types::request::WorkDoneProgressCreate;
use lsp_types::{
    NumberOrString, ProgressParams, ProgressParamsValue, WorkDoneProgress, WorkDoneProgressBegin,
    WorkDoneProgressCreateParams, WorkDoneProgressEnd, WorkDoneProgressReport,
};

use super::capabilities::ClientFeatures;
use super::client::Client;

/// A progress that is shown.
pub(super) struct Progress {
    token: NumberOrString,
    /// The number of files that was last reported.
    reported: usize,
}

/// Files between two reports: more often is more than is read.
const STEP: usize = 256;

impl Progress {
    /// Begins one.
    pub(super) fn begin(client: &Client, features: ClientFeatures) -> Option<Progress> {
        if !features.progress {
            return None;
        }
        let token = NumberOrString::String("ephor/scan".into());
        client.request::<WorkDoneProgressCreate>(WorkDoneProgressCreateParams { token: token.clone() });
        let progress = Progress { token, reported: 0 };
        progress.send(
            client,
            WorkDoneProgress::Begin(WorkDoneProgressBegin {
                title: "policies and manifests".into(),
                cancellable: Some(false),
                ..WorkDoneProgressBegin::default()
            }),
        );
        Some(progress)
    }

    /// Reports how many files were read.
    pub(super) fn report(&mut self, client: &Client, files: usize) {
        if files < self.reported + STEP {
            return;
        }
        self.reported = files;
        let message = Some(format!("{files} files"));
        let report = WorkDoneProgressReport { message, ..WorkDoneProgressReport::default() };
        self.send(client, WorkDoneProgress::Report(report));
    }

    /// Ends it.
    pub(super) fn end(self, client: &Client, files: usize) {
        let message = Some(format!("{files} files"));
        self.send(client, WorkDoneProgress::End(WorkDoneProgressEnd { message }));
    }

    fn send(&self, client: &Client, value: WorkDoneProgress) {
        client.notify::<notification::Progress>(ProgressParams {
            token: self.token.clone(),
            value: ProgressParamsValue::WorkDone(value),
        });
    }
}
