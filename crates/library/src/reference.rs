//! References to the library: `builtin://NAME`, or `builtin://NAME?form=FORM`.
//!
//! In: a reference; NAME is a set, a group, a control, `all`, or a file as messages name it. Out:
//! the files that it means, one a control. The form is `cel` unless one is named: it is the one
//! that Kyverno keeps. Of a control without that form it is the nearest that there is.

use ephor_value::suggest::did_you_mean;

use crate::sets::{ALL, GROUPS, SETS};
use crate::{Control, Form, LibraryFile, control, controls};

/// What a reference begins with.
pub const SCHEME: &str = "builtin://";

/// Why a reference means nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LibraryError {
    /// No set, group or control has this name.
    #[error("the library has no set and no control `{name}`{}\nhelp: `ephor policies list` shows all", suggestion(.meant.as_deref()))]
    UnknownName {
        /// What was written.
        name: String,
        /// What was probably meant.
        meant: Option<String>,
    },
    /// There is no such form.
    #[error("unknown form `{form}`\nhelp: write form=classic, form=cel or form=native")]
    UnknownForm {
        /// What was written.
        form: String,
    },
    /// A control does not have the form.
    #[error("`{control}` has no form `{form}`, only {forms}")]
    NoSuchForm {
        /// The control.
        control: String,
        /// The form.
        form: &'static str,
        /// Those that it has.
        forms: String,
    },
    /// A set where one control is wanted.
    #[error("`{name}` is a set of controls\nhelp: `ephor policies list {name}` shows them")]
    SetInsteadOfControl {
        /// The set.
        name: String,
    },
    /// What follows `?` is not the form.
    #[error(
        "unknown parameter `{parameter}` of a reference to the library\nhelp: write builtin://NAME?form=FORM"
    )]
    UnknownParameter {
        /// What was written.
        parameter: String,
    },
}

fn suggestion(name: Option<&str>) -> String {
    name.map(|name| format!(", did you mean `{name}`?")).unwrap_or_default()
}

/// What a reference means.
#[derive(Clone, Debug)]
pub struct Selection {
    /// The controls.
    pub controls: Vec<&'static Control>,
    /// The form that was named.
    pub form: Form,
}

impl Selection {
    /// What a reference means; the scheme may be missing. The name of a file, as messages have it,
    /// means that file.
    ///
    /// # Errors
    /// No set, group or control has the name, or there is no such form.
    pub fn parse(reference: &str) -> Result<Selection, LibraryError> {
        let reference = reference.strip_prefix(SCHEME).unwrap_or(reference);
        let (name, query) = match reference.split_once('?') {
            Some((name, query)) => (name, Some(query)),
            None => (reference, None),
        };
        let form = match query.map(|query| query.split_once('=').unwrap_or((query, ""))) {
            None => Form::Cel,
            Some(("form", form)) => {
                Form::of(form).ok_or_else(|| LibraryError::UnknownForm { form: form.into() })?
            }
            Some(_) => {
                return Err(LibraryError::UnknownParameter { parameter: query.unwrap_or_default().into() });
            }
        };
        let has = |control: &&Control| control.forms.iter().find(|(_, file)| file.path == name).copied();
        if let Some((control, (form, _))) = controls().iter().find_map(|one| Some((one, has(&one)?))) {
            return Ok(Selection { controls: vec![control], form });
        }
        Ok(Selection { controls: named(name)?, form })
    }

    /// The file of each control in the form, or in the nearest one.
    pub fn files(&self) -> Vec<LibraryFile> {
        self.controls.iter().filter_map(|control| control.nearest(self.form)).collect()
    }

    /// The name that a file has in messages.
    pub fn name_of(file: LibraryFile) -> String {
        format!("{SCHEME}{}", file.path)
    }
}

/// The controls of a set, of a group, or the one of this name.
///
/// # Errors
/// There is none.
pub fn named(name: &str) -> Result<Vec<&'static Control>, LibraryError> {
    if name == ALL {
        return Ok(controls().iter().collect());
    }
    let set = SETS.iter().find(|set| set.name == name).map(|set| set.groups.to_vec());
    let group = || GROUPS.iter().find(|group| group.name == name).map(|group| vec![group.name]);
    if let Some(groups) = set.or_else(group) {
        return Ok(controls().iter().filter(|control| groups.contains(&control.group)).collect());
    }
    control(name).map(|one| vec![one]).ok_or_else(|| {
        let names: Vec<&str> = names().collect();
        LibraryError::UnknownName { name: name.into(), meant: did_you_mean(name, &names).map(String::from) }
    })
}

/// Every name that [`named`] knows.
pub fn names() -> impl Iterator<Item = &'static str> {
    let sets = SETS.iter().map(|set| set.name).chain(GROUPS.iter().map(|group| group.name));
    sets.chain([ALL]).chain(controls().iter().map(|control| control.name))
}
