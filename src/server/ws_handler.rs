//! WebSocket handlers: functions and closures whose arguments are a session and [extractors](crate::server::extract).
//!
//! The extractors run before the 101, so that a refusal is an ordinary HTTP answer.

use super::session_handler::{IntoSessionEnd, SessionHandler};
use super::upgrade::SessionStart;
use crate::server::extract::{BuildContext, FromRequest, Rejection};
use crate::server::handler::for_each_arity;
use crate::server::request::Request;
use crate::session::Session;
use std::marker::PhantomData;
use std::sync::Arc;

/// A loop handler: `Fn(Session, E1, .., En) -> R` with up to eight extractors, where `R` is `()` or
/// [`greenroom::Result<()>`](crate::Result).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a WebSocket handler",
    note = "a WebSocket handler is a `Fn(Session, ..)` whose other arguments are up to 8 extractors that are `Send` \
            (with the types of a closure's arguments written out); it returns `()` or `greenroom::Result<()>`"
)]
pub trait WsHandler<Args>: Send + Sync + 'static {
    /// Runs the extractors.
    #[doc(hidden)]
    fn prepare(self: &Arc<Self>, request: &mut Request) -> Result<Prepared, Rejection>;

    /// Appends what the extractors miss in this app.
    #[doc(hidden)]
    fn check(context: &BuildContext<'_>, problems: &mut Vec<String>);
}

/// Makes the handler of each session of a callback route: `Fn(E1, .., En) -> impl SessionHandler` with up to eight
/// extractors.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not make WebSocket sessions",
    note = "a factory is a `Fn` of up to 8 extractors that returns something that implements `SessionHandler`"
)]
pub trait WsFactory<Args>: Send + Sync + 'static {
    /// Runs the extractors and the factory.
    #[doc(hidden)]
    fn prepare(&self, request: &mut Request) -> Result<Prepared, Rejection>;

    /// Appends what the extractors miss in this app.
    #[doc(hidden)]
    fn check(context: &BuildContext<'_>, problems: &mut Vec<String>);
}

/// A session ready to start.
#[doc(hidden)]
pub struct Prepared(pub(crate) SessionStart);

macro_rules! ws_handler_of {
    ($($arg:ident)*) => {
        #[allow(non_snake_case, unused_variables, reason = "one text for every number of arguments")]
        impl<F, R, $($arg,)*> WsHandler<($($arg,)*)> for F
        where
            F: Fn(Session, $($arg,)*) -> R + Send + Sync + 'static,
            R: IntoSessionEnd,
            $($arg: FromRequest + Send + 'static,)*
        {
            fn prepare(self: &Arc<Self>, request: &mut Request) -> Result<Prepared, Rejection> {
                $(let $arg = $arg::from_request(request)?;)*
                let handler = Arc::clone(self);
                let run = move |session: Session| handler(session, $($arg,)*).into_session_end();
                Ok(Prepared(SessionStart::Loop(Box::new(run))))
            }

            fn check(context: &BuildContext<'_>, problems: &mut Vec<String>) {
                $(problems.extend($arg::check(context).err());)*
            }
        }

        #[allow(non_snake_case, unused_variables, reason = "one text for every number of arguments")]
        impl<F, S, $($arg,)*> WsFactory<($($arg,)*)> for F
        where
            F: Fn($($arg,)*) -> S + Send + Sync + 'static,
            S: SessionHandler,
            $($arg: FromRequest,)*
        {
            fn prepare(&self, request: &mut Request) -> Result<Prepared, Rejection> {
                $(let $arg = $arg::from_request(request)?;)*
                Ok(Prepared(SessionStart::Callback(Box::new(self($($arg,)*)))))
            }

            fn check(context: &BuildContext<'_>, problems: &mut Vec<String>) {
                $(problems.extend($arg::check(context).err());)*
            }
        }
    };
}
for_each_arity!(ws_handler_of);

/// Either form of a session's code, its arguments forgotten.
pub(crate) trait SessionMaker: Send + Sync {
    fn prepare(&self, request: &mut Request) -> Result<SessionStart, Rejection>;
    fn check(&self, context: &BuildContext<'_>, problems: &mut Vec<String>);
}

/// A loop handler.
pub(crate) struct LoopMaker<F, Args>(Arc<F>, PhantomData<fn(Args)>);

impl<F, Args> LoopMaker<F, Args> {
    pub(crate) fn new(handler: F) -> Self {
        Self(Arc::new(handler), PhantomData)
    }
}

impl<Args: 'static, F: WsHandler<Args>> SessionMaker for LoopMaker<F, Args> {
    fn prepare(&self, request: &mut Request) -> Result<SessionStart, Rejection> {
        self.0.prepare(request).map(|Prepared(start)| start)
    }

    fn check(&self, context: &BuildContext<'_>, problems: &mut Vec<String>) {
        F::check(context, problems);
    }
}

/// A factory of callback handlers.
pub(crate) struct CallbackMaker<F, Args>(F, PhantomData<fn(Args)>);

impl<F, Args> CallbackMaker<F, Args> {
    pub(crate) fn new(factory: F) -> Self {
        Self(factory, PhantomData)
    }
}

impl<Args: 'static, F: WsFactory<Args>> SessionMaker for CallbackMaker<F, Args> {
    fn prepare(&self, request: &mut Request) -> Result<SessionStart, Rejection> {
        self.0.prepare(request).map(|Prepared(start)| start)
    }

    fn check(&self, context: &BuildContext<'_>, problems: &mut Vec<String>) {
        F::check(context, problems);
    }
}
