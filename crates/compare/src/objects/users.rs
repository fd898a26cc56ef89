//! Users: who makes a request, with groups and roles.
//!
//! In: what is read of them, the texts that are tested, and how many items of lists matter. Out:
//! users that stand for all others, and why they may not.
//!
//! Two names that are in the same of the tested languages are one to the rules; so are groups and
//! roles. What rules say of a list of groups they say of a part of it, as of any list
//! (`lists::small_model`): of as many groups as there are statements about them, in selections
//! (each pattern is one) and in expressions. So the lists of up to this many groups of each class
//! stand for all.
//!
//! Every user that an API server knows is in `system:authenticated`; the anonymous one alone is
//! not.

use std::collections::{BTreeMap, BTreeSet};

use ephor_analysis::reads::UserReads;
use ephor_engine::request::UserParts;
use ephor_value::{Str, Value};

use crate::lists::small_model::Count;
use crate::model::limits::{MAX_GROUP_LISTS, MAX_USERS};
use crate::predicates::summary::Predicates;
use crate::strings::languages::Languages;
use crate::strings::witnesses::{WitnessCache, truths};

/// The group of all users that an API server knows.
const KNOWN: &str = "system:authenticated";

/// How many items of lists matter; an error where that is not known.
pub(crate) type ListBound<'c> = Result<&'c Count, &'c str>;

/// What rules read and test of users.
pub(crate) struct WantedUsers<'t> {
    /// What expressions read.
    pub by_expression: UserReads,
    pub tested: &'t Predicates,
    pub words: &'t WitnessCache,
    pub needed: ListBound<'t>,
}

/// A user of each class, and why they may not be all.
pub(crate) fn users(wanted: &WantedUsers<'_>) -> (Vec<UserParts>, Option<String>) {
    let mut open = None;
    let WantedUsers { by_expression, tested, .. } = wanted;
    let account = |glob: &str| format!("system:serviceaccount:{glob}");
    let accounts = |glob: &str| {
        vec![glob.into(), account("*:*"), account(&format!("{glob}:*")), account(&format!("*:{glob}"))]
    };
    let names = wanted.languages(&tested.users, by_expression.name, &accounts);
    let names = wanted.words.of(names, 1).unwrap_or_else(|| {
        open = Some("too many different users".to_string());
        Default::default()
    });
    let groups = wanted.lists("groups", &tested.groups, by_expression.groups, &mut open);
    let [of_roles, of_cluster_roles] = &tested.roles;
    let roles = wanted.lists("roles", of_roles, by_expression.roles, &mut open);
    let cluster_roles =
        wanted.lists("clusterRoles", of_cluster_roles, by_expression.cluster_roles, &mut open);
    let mut all = Vec::new();
    let named = names.iter().filter(|name| !name.is_empty() && &***name != ANONYMOUS);
    for name in std::iter::once("developer").chain(named.map(|name| &**name)) {
        for groups in &groups {
            for (roles, cluster_roles) in pairs(&roles, &cluster_roles) {
                if all.len() >= MAX_USERS {
                    open.get_or_insert_with(|| "too many different users".into());
                    return (all, open);
                }
                let known = [KNOWN].into_iter().filter(|known| !groups.iter().any(|own| own == known));
                let groups = groups.iter().map(String::as_str).chain(known);
                all.push(user(name, groups, roles, cluster_roles));
            }
        }
    }
    let are_selected = !tested.users.is_empty() || !tested.groups.is_empty();
    if by_expression.name || by_expression.groups || are_selected {
        let none = Vec::new();
        all.push(user(ANONYMOUS, ["system:unauthenticated"].into_iter(), &none, &none));
    }
    (all, open)
}

const ANONYMOUS: &str = "system:anonymous";

fn pairs<'l>(
    roles: &'l [Vec<String>],
    cluster_roles: &'l [Vec<String>],
) -> impl Iterator<Item = (&'l Vec<String>, &'l Vec<String>)> {
    roles.iter().flat_map(move |own| cluster_roles.iter().map(move |cluster| (own, cluster)))
}

fn user<'g>(
    name: &str,
    groups: impl Iterator<Item = &'g str>,
    roles: &[String],
    cluster_roles: &[String],
) -> UserParts {
    let groups = groups.map(Value::from).collect();
    let info = Value::map([("username", Value::from(name)), ("groups", Value::list(groups))]);
    UserParts { info, roles: roles.to_vec(), cluster_roles: cluster_roles.to_vec() }
}

impl WantedUsers<'_> {
    /// The languages that are tested: those of selections, and any constant where an expression
    /// reads them.
    fn languages(
        &self,
        own: &BTreeSet<String>,
        by_expression: bool,
        more: &dyn Fn(&str) -> Vec<String>,
    ) -> Languages {
        if !by_expression {
            return Languages { globs: own.clone(), ..Languages::default() };
        }
        let mut all = self.tested.languages();
        all.globs.extend(own.iter().cloned());
        all.globs.extend(self.tested.globs.iter().flat_map(|glob| more(glob)));
        all
    }

    /// Lists of groups or roles that stand for all others.
    fn lists(
        &self,
        name: &str,
        patterns: &BTreeSet<String>,
        by_expression: bool,
        open: &mut Option<String>,
    ) -> Vec<Vec<String>> {
        let mut all = vec![Vec::new()];
        if patterns.is_empty() && !by_expression {
            return all;
        }
        let mut unknown = |why: &str| _ = open.get_or_insert_with(|| why.to_string());
        let languages = self.languages(patterns, by_expression, &|glob| vec![glob.into()]);
        let statements = match self.needed {
            Ok(count) if by_expression => count.most(name),
            Err(why) if by_expression => {
                unknown(why);
                1
            }
            _ => 0,
        };
        let most = (statements + patterns.len()).max(1);
        let texts = self.words.of(languages.clone(), most);
        let Some((truth, texts)) = texts.and_then(|texts| Some((truths(&languages, &texts)?, texts))) else {
            unknown("too many different groups or roles");
            return all;
        };
        let mut classes: BTreeMap<Vec<bool>, Vec<&Str>> = BTreeMap::new();
        for (text, truth) in texts.iter().zip(truth).filter(|(text, _)| !text.is_empty()) {
            classes.entry(truth).or_default().push(text);
        }
        // Shorter lists first: each is a shorter one with one more of a class that does not come
        // before its last.
        let classes: Vec<Vec<&Str>> = classes.into_values().collect();
        let mut before: Vec<Vec<usize>> = vec![vec![0; classes.len()]];
        for _ in 0..most {
            let mut longer = Vec::new();
            for counts in &before {
                let last = counts.iter().rposition(|count| *count > 0).unwrap_or_default();
                for (at, class) in classes.iter().enumerate().skip(last) {
                    let mut counts = counts.clone();
                    let Some(count) = counts.get_mut(at).filter(|count| **count < class.len()) else {
                        continue;
                    };
                    *count += 1;
                    longer.push(counts);
                }
            }
            if all.len() + longer.len() > MAX_GROUP_LISTS {
                unknown("too many combinations of groups or roles");
                longer.truncate(MAX_GROUP_LISTS.saturating_sub(all.len()));
            }
            for counts in &longer {
                let of = |(class, count): (&Vec<&Str>, &usize)| {
                    class.iter().take(*count).map(|text| text.to_string()).collect::<Vec<String>>()
                };
                all.push(classes.iter().zip(counts).flat_map(of).collect());
            }
            before = longer;
        }
        if by_expression && most > 1 {
            // One may be taken by its position.
            let turned: Vec<Vec<String>> = all
                .iter()
                .filter(|list| list.len() == 2)
                .map(|list| list.iter().rev().cloned().collect())
                .collect();
            all.extend(turned);
        }
        all
    }
}
